package tidy

import (
	"go/ast"
	"slices"
	"strings"
)

// sleepers are the tests that may call time.Sleep, each with the reason.
var sleepers = map[string]string{}

// clock are the names in package time that read a clock or wait for one.
var clock = []string{
	"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker",
}

// calls checks what the file's code reaches for.
func (c *checker) calls(f *file) {
	for _, spec := range f.Imports {
		if spec.Path.Value == `"math/rand"` {
			c.report(f, spec.Pos(), "math/rand", "use math/rand/v2 with a seed that the test prints")
		}
	}
	isLibrary := !f.isTest() && f.Name.Name != "main"
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if isPure(f) && !f.isTest() {
				c.report(f, n.Pos(), "goroutine in a pure package", "%s starts no goroutines: leave that to the runtime", top(f.path))
			}
		case *ast.SelectorExpr:
			c.reference(f, n, isLibrary)
		}
		return true
	})
}

func (c *checker) reference(f *file, n *ast.SelectorExpr, isLibrary bool) {
	path, name := f.refers(n)
	switch {
	case path == "time" && name == "Sleep" && sleepers[f.path] == "":
		if f.isTest() {
			c.report(f, n.Pos(), "time.Sleep", "wait for what you wait for (kafkatest.Eventually, a channel, synctest)")
		} else {
			c.report(f, n.Pos(), "time.Sleep", "use a timer in a select, so that a stop need not wait for it")
		}
	case path == "time" && isPure(f) && !f.isTest() && slices.Contains(clock, name):
		c.report(f, n.Pos(), "clock in a pure package", "%s reads no clock: take the time as an argument", top(f.path))
	case path == "fmt" && isLibrary && strings.HasPrefix(name, "Print"):
		c.report(f, n.Pos(), "fmt."+name, "a library does not own standard output: return an error, log, or take an io.Writer")
	}
}

// skips checks that tests skip themselves by kafkatest.Skip alone, which fails in CI. Property tests may skip a case:
// only a value that a function takes as testing's T, B or TB counts.
func (c *checker) skips(f *file) {
	if !f.isTest() || f.dir() == "internal/kafkatest" {
		return
	}
	c.skipsIn(f, f.File, nil)
}

// skipsIn looks through a node; tests are the names that stand for a test in the functions around it.
func (c *checker) skipsIn(f *file, root ast.Node, tests []string) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				c.skipsIn(f, n.Body, f.testsAmong(n.Type, tests))
			}
			return false
		case *ast.FuncLit:
			c.skipsIn(f, n.Body, f.testsAmong(n.Type, tests))
			return false
		case *ast.SelectorExpr:
			name, ok := n.X.(*ast.Ident)
			if ok && slices.Contains(tests, name.Name) && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, n.Sel.Name) {
				c.report(f, n.Pos(), "skipped test",
					"use kafkatest.Skip, which fails where CI=true, or a build constraint such as !race")
			}
		}
		return true
	})
}

// testsAmong returns the names that stand for a test inside a function of the given type, where outer did outside it.
func (f *file) testsAmong(function *ast.FuncType, outer []string) []string {
	names := slices.Clone(outer)
	for _, field := range function.Params.List {
		path, _ := f.refers(dereferenced(field.Type))
		for _, name := range field.Names {
			names = slices.DeleteFunc(names, func(n string) bool { return n == name.Name })
			if path == "testing" {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

func dereferenced(e ast.Expr) ast.Expr {
	if star, ok := e.(*ast.StarExpr); ok {
		return star.X
	}
	return e
}
