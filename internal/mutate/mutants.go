package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// A mutant is a source file with one small change.
type mutant struct {
	id         int
	file       string // as it was given to mutantsOf
	line       int
	column     int
	what       string // the change, as in "< becomes <="
	text       string // the line that it is in
	start, end int    // offsets of the bytes that are replaced
	with       string
	in         *function // nil: a mutant that has to be built for itself
}

// A function is a body that is there once more for each of its mutants.
type function struct {
	start, end int // offsets of its braces
	results    bool
}

// apply returns the source with the change.
func (m mutant) apply(src []byte) []byte {
	return []byte(string(src[:m.start]) + m.with + string(src[m.end:]))
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.what) }

// operators are the operators that are replaced, each with what replaces it.
var operators = map[token.Token][]string{
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"}, token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.EQL: {"!="}, token.NEQ: {"=="}, token.LAND: {"||"}, token.LOR: {"&&"},
	token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"/"}, token.QUO: {"*"}, token.REM: {"*"},
	token.AND: {"|"}, token.OR: {"&"}, token.SHL: {">>"}, token.SHR: {"<<"},
}

// names are the names that are replaced.
var names = map[string]string{
	"true": "false", "false": "true", "min": "max", "max": "min", "MaxInt64": "MinInt64", "MinInt64": "MaxInt64",
}

// mutantsOf returns all mutants of a file, in the order of its text. Some do not compile.
func mutantsOf(file string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := finder{file: fset.File(tree.FileStart), name: file, src: src, lines: strings.Split(string(src), "\n")}
	for _, d := range tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		f.last, f.in = map[ast.Node]bool{}, nil
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil && !isBound(d) {
			f.in = &function{f.offset(d.Body.Lbrace), f.offset(d.Body.Rbrace), d.Type.Results != nil}
		}
		ast.Inspect(d, f.visit)
	}
	return f.found, nil
}

// isBound reports whether a body would mean something else inside a block: if it
// has labels, or declares a parameter or result again, which then is another.
func isBound(d *ast.FuncDecl) (bound bool) {
	fields := map[string]bool{}
	for _, list := range []*ast.FieldList{d.Recv, d.Type.Params, d.Type.Results} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				fields[name.Name] = name.Name != "_"
			}
		}
	}
	for _, s := range d.Body.List {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, e := range a.Lhs {
				bound = bound || fields[e.(*ast.Ident).Name]
			}
		}
	}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if _, label := n.(*ast.LabeledStmt); label {
			bound = true
		}
		return true
	})
	return bound
}

// A finder walks the syntax of a file.
type finder struct {
	file  *token.File
	name  string
	src   []byte
	lines []string
	in    *function
	last  map[ast.Node]bool // the last statements of functions: that they return is no choice
	found []mutant
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		f.function(n.Body)
	case *ast.FuncLit:
		f.function(n.Body)
	case *ast.BinaryExpr:
		for _, with := range operators[n.Op] {
			f.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), with, n.Op.String()+" becomes "+with)
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 32); n.Kind == token.INT && err == nil {
			with := strconv.FormatInt(v+1, 10)
			if v == 1 {
				with = "0"
			}
			f.add(n.Pos(), n.End(), with, n.Value+" becomes "+with)
		}
	case *ast.Ident:
		if with := names[n.Name]; with != "" {
			f.add(n.Pos(), n.End(), with, n.Name+" becomes "+with)
		}
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.ForStmt:
		f.condition(n.Cond)
	case ast.Stmt:
		f.statement(n)
	}
	return true
}

func (f *finder) function(body *ast.BlockStmt) {
	if body != nil && len(body.List) > 0 {
		f.last[body.List[len(body.List)-1]] = true
	}
}

// condition negates a condition, unless that is what another operator would do.
func (f *finder) condition(c ast.Expr) {
	b, ok := c.(*ast.BinaryExpr)
	if c == nil || ok && b.Op != token.LAND && b.Op != token.LOR {
		return
	}
	f.add(c.Pos(), c.End(), "!("+string(f.src[f.offset(c.Pos()):f.offset(c.End())])+")", "condition negated")
}

// statement removes a statement, if there can be code without it.
func (f *finder) statement(s ast.Stmt) {
	what := ""
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			what = "assignment removed"
		}
	case *ast.IncDecStmt:
		what = "assignment removed"
	case *ast.ExprStmt:
		what = "call removed"
	case *ast.ReturnStmt:
		if !f.last[s] {
			what = "return removed"
		}
	case *ast.BranchStmt:
		if s.Tok != token.FALLTHROUGH {
			what = s.Tok.String() + " removed"
		}
	}
	if what != "" {
		lines := strings.Count(string(f.src[f.offset(s.Pos()):f.offset(s.End())]), "\n")
		f.add(s.Pos(), s.End(), strings.Repeat("\n", lines), what)
	}
}

func (f *finder) offset(p token.Pos) int { return f.file.Offset(p) }

func (f *finder) add(start, end token.Pos, with, what string) {
	line := f.file.Line(start)
	f.found = append(f.found, mutant{
		file: f.name, line: line, column: f.file.Position(start).Column, what: what, text: strings.TrimSpace(f.lines[line-1]),
		start: f.offset(start), end: f.offset(end), with: with, in: f.in,
	})
}
