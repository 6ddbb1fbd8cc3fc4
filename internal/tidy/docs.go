package tidy

import (
	"go/ast"
	"slices"
)

// packageDoc notes whether a package has a comment, and where to report it if not.
type packageDoc struct {
	first      string // the first of its files by name
	name       string
	documented bool
}

func (c *checker) notePackage(f *file) {
	if f.isTest() {
		return
	}
	if c.packages == nil {
		c.packages = map[string]*packageDoc{}
	}
	p := c.packages[f.dir()]
	if p == nil {
		p = &packageDoc{first: f.path, name: f.Name.Name}
		c.packages[f.dir()] = p
	}
	p.first = min(p.first, f.path)
	p.documented = p.documented || f.Doc != nil
}

func (c *checker) packageComments() {
	for _, p := range c.packages {
		if !p.documented {
			hint := "say what package " + p.name + " is for and how it is used"
			c.findings = append(c.findings, Finding{p.first, 1, "package comment", hint})
		}
	}
}

// wellKnown are methods whose meaning the standard library fixes: a comment could only repeat it.
var wellKnown = []string{"Error", "String", "Unwrap"}

// documented checks that every exported name that the package's users can reach has a comment: functions, types, their
// methods, the methods of interfaces, variables and constants. One comment over a group of values is enough.
func (c *checker) documented(f *file) {
	if f.Name.Name == "main" {
		return
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && !isHidden(d) {
				c.undocumented(f, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				c.specDocumented(f, d, spec)
			}
		}
	}
}

func (c *checker) specDocumented(f *file, d *ast.GenDecl, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		if s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
			c.undocumented(f, s.Name)
		}
		if i, ok := s.Type.(*ast.InterfaceType); ok {
			c.methodsDocumented(f, i)
		}
	case *ast.ValueSpec:
		if d.Doc != nil || s.Doc != nil || s.Comment != nil {
			return
		}
		for _, name := range s.Names {
			if name.IsExported() {
				c.undocumented(f, name)
			}
		}
	}
}

func (c *checker) methodsDocumented(f *file, i *ast.InterfaceType) {
	for _, method := range i.Methods.List {
		for _, name := range method.Names { // an embedded interface has none
			if name.IsExported() && method.Doc == nil && method.Comment == nil {
				c.undocumented(f, name)
			}
		}
	}
}

func (c *checker) undocumented(f *file, name *ast.Ident) {
	c.report(f, name.Pos(), "undocumented", "say what %s does: units, errors, and who may call it when", name.Name)
}

// isHidden says whether a function is a method that needs no comment of its own.
func isHidden(d *ast.FuncDecl) bool {
	return d.Recv != nil && (!ast.IsExported(receiver(d)) || slices.Contains(wellKnown, d.Name.Name))
}

// receiver returns the name of a method's receiver type, without its pointer and its type parameters.
func receiver(d *ast.FuncDecl) string {
	switch t := dereferenced(d.Recv.List[0].Type).(type) {
	case *ast.Ident:
		return t.Name
	case *ast.IndexExpr:
		return t.X.(*ast.Ident).Name
	case *ast.IndexListExpr:
		return t.X.(*ast.Ident).Name
	}
	return ""
}
