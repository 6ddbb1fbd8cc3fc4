// Package tidy holds the project's rules of style and layering, in the form of checks on its source. They are the rules
// that no public tool knows: which package may import which, what pure packages must not touch, how long a file and a
// function may grow, and what must not be left behind. The package's test runs them over the whole tree.
package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Module is the import path of this module, without which a path is not ours.
const Module = "github.com/weirstream/weir"

// Finding is one breach of a rule.
type Finding struct {
	Path string // slash-separated, relative to the root of the module
	Line int    // from 1
	Rule string // what is broken, in a few words
	Hint string // what to do instead
}

// String formats the finding as compilers do, so that editors can jump to it.
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.Path, f.Line, f.Rule, f.Hint) }

// Check checks the given files, a map from paths relative to the module's root to contents, and returns what it finds
// ordered by path and line.
func Check(files map[string]string) []Finding {
	var c checker
	for path, text := range files {
		c.root(path)
		c.text(path, text)
		if strings.HasSuffix(path, ".go") {
			c.source(path, text)
		}
	}
	c.packageComments()
	slices.SortFunc(c.findings, func(a, b Finding) int {
		if a.Path != b.Path {
			return strings.Compare(a.Path, b.Path)
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.Rule, b.Rule)
	})
	return c.findings
}

type checker struct {
	findings []Finding
	packages map[string]*packageDoc // by directory
}

// file is one parsed Go file.
type file struct {
	*ast.File
	path    string
	fset    *token.FileSet
	imports map[string]string // the name used in the file -> the path it stands for
}

func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// dir returns the directory of the file, which is "" at the root.
func (f *file) dir() string {
	if i := strings.LastIndexByte(f.path, '/'); i >= 0 {
		return f.path[:i]
	}
	return ""
}

// refers returns the package path and the name if the expression is a reference to a name in an imported package.
func (f *file) refers(e ast.Expr) (path, name string) {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		if pkg, ok := sel.X.(*ast.Ident); ok {
			return f.imports[pkg.Name], sel.Sel.Name
		}
	}
	return "", ""
}

func (c *checker) source(path, text string) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		c.findings = append(c.findings, Finding{path, 1, "does not parse", err.Error()})
		return
	}
	f := &file{File: parsed, path: path, fset: fset, imports: map[string]string{}}
	for _, spec := range parsed.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		f.imports[importName(spec, target)] = target
	}
	c.notePackage(f)
	c.layering(f)
	c.calls(f)
	c.lengths(f, text)
	c.skips(f)
	if !f.isTest() {
		c.documented(f)
	}
}

// importName returns the name under which a file knows an import; unless it says so, the last part of the path, less a
// version.
func importName(spec *ast.ImportSpec, target string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	parts := strings.Split(target, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		last = parts[len(parts)-2]
	}
	return last
}

func (c *checker) report(f *file, at token.Pos, rule, hint string, args ...any) {
	c.findings = append(c.findings, Finding{f.path, f.fset.Position(at).Line, rule, fmt.Sprintf(hint, args...)})
}
