package tidy

import (
	"go/ast"
	"go/token"
	"strings"
)

const (
	maxFile, maxTestFile = 500, 800 // lines
	maxFunction          = 70       // lines, of code that is no test
)

// lengths checks that a file can be read in one sitting and a function at one glance.
func (c *checker) lengths(f *file, text string) {
	limit := maxFile
	if f.isTest() {
		limit = maxTestFile
	}
	if lines := strings.Count(text, "\n"); lines > limit {
		c.report(f, f.FileStart, "long file", "%d lines, more than %d: one concept per file, so which is the second?", lines, limit)
	}
	if f.isTest() {
		return
	}
	for _, decl := range f.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok {
			if lines := f.lines(d.Pos(), d.End()); lines > maxFunction {
				c.report(f, d.Pos(), "long function", "%s has %d lines, more than %d: name its parts", d.Name.Name, lines, maxFunction)
			}
		}
	}
}

// lines returns on how many lines stands what lies between two positions.
func (f *file) lines(from, to token.Pos) int {
	return f.fset.Position(to).Line - f.fset.Position(from).Line + 1
}
