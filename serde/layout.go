package serde

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A layout is how msgpack sees a struct: its fields with those of embedded structs between them.
type layout struct {
	fields   []layoutField
	asArray  bool // the struct asks to be an array, by a field _msgpack
	findings []finding
	names    map[string]string // the name of each field in the encoding, and the path of the one that has it
}

type layoutField struct {
	name      string // in the encoding
	path      string // from the struct, with a leading dot
	typ       reflect.Type
	omitEmpty bool
}

// layoutOf mirrors msgpack's getFields and notes which fields it would lose.
func layoutOf(t reflect.Type) *layout { return layoutWithin(t, nil) }

// layoutWithin is layoutOf for a struct that is embedded in others.
func layoutWithin(t reflect.Type, outer []reflect.Type) *layout {
	l := &layout{names: map[string]string{}}
	outer = append(outer, t)
	omitAll := false
	for i := range t.NumField() {
		f := t.Field(i)
		tag := parseTag(f.Tag.Get("msgpack"))
		path := "." + f.Name
		if f.Name == "_msgpack" {
			l.asArray = tag.has("as_array") || tag.has("asArray")
			omitAll = tag.has("omitempty")
		}
		if f.Name == "_msgpack" || f.Name == "_" || f.Type.Size() == 0 && f.PkgPath != "" {
			continue
		}
		switch {
		case tag.name == "-":
			l.lose(path, `it has the tag "-", so it is not written`)
		case f.PkgPath != "" && !f.Anonymous:
			l.lose(path, "it is unexported, so it is not written")
		case tag.has("intern"):
			l.findings = append(l.findings, finding{path, "interned strings need a stream, but each record is read alone", true})
		default:
			l.add(f, tag, omitAll || tag.has("omitempty"), outer)
		}
	}
	return l
}

func (l *layout) lose(path, why string) {
	l.findings = append(l.findings, finding{path: path, why: why})
}

// add adds a field that msgpack writes, or the fields of an embedded struct in its place.
func (l *layout) add(f reflect.StructField, tag fieldTag, omitEmpty bool, outer []reflect.Type) {
	name, path := tag.name, "."+f.Name
	if name == "" {
		name = f.Name
	}
	if f.Anonymous && !tag.has("noinline") && l.inline(f, tag, outer) {
		l.take(name, path)
		return
	}
	if f.PkgPath != "" {
		l.lose(path, "it is of an unexported type and embedded, and msgpack cannot set it")
		return
	}
	l.take(name, path)
	if alias := tag.value("alias"); alias != "" {
		l.take(alias, path)
	}
	l.fields = append(l.fields, layoutField{name, path, f.Type, omitEmpty})
}

// inline adds the fields of an embedded struct as if they were the outer struct's, and reports whether msgpack does so.
func (l *layout) inline(f reflect.StructField, tag fieldTag, outer []reflect.Type) bool {
	path, t := "."+f.Name, f.Type
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == timeType || codecOf(t).own() {
		return false
	}
	if slices.Contains(outer, t) {
		l.findings = append(l.findings, finding{path, "it embeds a type in itself, which msgpack follows without end", true})
		return true
	}
	inner := layoutWithin(t, outer)
	for _, in := range inner.fields {
		if _, shadowed := l.names[in.name]; shadowed && !tag.has("inline") {
			return false
		}
	}
	if t != f.Type {
		l.lose(path, "it is an embedded pointer, and a nil one comes back set; embed the struct or give the field a name")
	}
	for _, in := range inner.findings {
		l.findings = append(l.findings, finding{path + in.path, in.why, in.fatal})
	}
	for _, in := range inner.fields {
		l.take(in.name, path+in.path)
		l.fields = append(l.fields, layoutField{in.name, path + in.path, in.typ, in.omitEmpty})
	}
	return true
}

// take gives a name to the field at path. msgpack lets a later field take a name over, and the earlier one is lost.
func (l *layout) take(name, path string) {
	if other, taken := l.names[name]; taken {
		l.lose(path, fmt.Sprintf("it and %s are both written under the name %q", strings.TrimPrefix(other, "."), name))
	}
	l.names[name] = path
}

// A fieldTag is a msgpack struct tag: a name and options, some with a value.
type fieldTag struct {
	name    string
	options []string
}

func parseTag(tag string) fieldTag {
	parts := strings.Split(tag, ",")
	return fieldTag{parts[0], parts[1:]}
}

func (t fieldTag) has(option string) bool { return slices.Contains(t.options, option) }

// value returns what follows "option:" in the tag, or "".
func (t fieldTag) value(option string) string {
	for _, o := range t.options {
		if v, ok := strings.CutPrefix(o, option+":"); ok {
			return v
		}
	}
	return ""
}
