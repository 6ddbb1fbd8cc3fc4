package serde

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/weirstream/weir/window"
)

// A finding is a reason why some value of a type would not come back whole from msgpack.
type finding struct {
	path  string // from the type that was checked, such as "main.Order.Lines[].price"
	why   string
	fatal bool // encoding such a type would stop the program, so it must not be tried
}

// A checker walks a type as msgpack does and collects what would be lost.
type checker struct {
	findings  []finding
	unordered string                // the path of the first map written in no fixed order
	recursive bool                  // a value may contain values of its own type
	parts     map[reflect.Type]bool // types that msgpack takes apart: not basic ones, nor those that encode themselves
	times     map[reflect.Type]bool // types in which a time.Time may be; nil if there is none
	visited   map[visit]bool
	open      map[reflect.Type]int // how often a type is on the way from the root to here
}

// A place is where in a value a type was met.
type place struct {
	path        string
	addressable bool // msgpack can take the address: nothing under a map's keys and values can be
	key         bool // it is in a map's key
}

func (p place) at(suffix string) place { p.path += suffix; return p }

type visit struct {
	typ              reflect.Type
	addressable, key bool
}

var spanType = reflect.TypeFor[window.Span]()

// check walks t.
func check(t reflect.Type) *checker {
	c := &checker{parts: map[reflect.Type]bool{}, visited: map[visit]bool{}, open: map[reflect.Type]int{}}
	c.walk(t, place{path: t.String(), addressable: true})
	if holders := holdersOfTime(t); holders[t] {
		c.times = holders
	}
	return c
}

// fatal returns an error if msgpack must not be tried on the type at all.
func (c *checker) fatal() error {
	for _, f := range c.findings {
		if f.fatal {
			return fmt.Errorf("serde: MessagePack: %s: %s", f.path, f.why)
		}
	}
	return nil
}

// err returns all findings as one error, or nil.
func (c *checker) err() error {
	var errs []error
	for _, f := range c.findings {
		errs = append(errs, fmt.Errorf("\t%s: %s", f.path, f.why))
	}
	return errors.Join(errs...)
}

func (c *checker) find(p place, format string, args ...any) {
	c.findings = append(c.findings, finding{path: p.path, why: fmt.Sprintf(format, args...)})
}

func (c *checker) walk(t reflect.Type, p place) {
	if c.open[t] > 0 && t.Kind() != reflect.Pointer {
		c.recursive = true
	}
	v := visit{t, p.addressable, p.key}
	if c.visited[v] {
		return
	}
	c.visited[v] = true
	c.open[t]++
	defer func() { c.open[t]-- }()

	switch {
	case t == timeType:
		if p.key {
			c.find(p, "a time.Time in a map's key comes back in another zone, as another key; use UnixMilli")
		}
	case t == spanType:
		c.find(p, "a window.Span has unexported fields; for keys with a window use serde.Windowed or serde.TimeWindowed")
	case t.Kind() == reflect.Pointer:
		c.pointer(t, p)
	case t.Kind() == reflect.Interface:
		c.find(p, "it is an interface (%v), and the type of its value is not written", t)
	case codecOf(t).own():
		c.own(t, p)
	default:
		c.kind(t, p)
	}
}

func (c *checker) pointer(t reflect.Type, p place) {
	c.parts[t] = true
	elem := t.Elem()
	for seen := map[reflect.Type]bool{t: true}; elem.Kind() == reflect.Pointer; elem = elem.Elem() {
		if seen[elem] {
			c.findings = append(c.findings, finding{p.path, "it points to pointers without end", true})
			return
		}
		seen[elem] = true
	}
	switch elem = t.Elem(); {
	case p.key:
		c.find(p, "a pointer in a map's key comes back as another pointer, another key")
		return
	case elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice || elem.Kind() == reflect.Map:
		c.find(p, "it points to a %v, and a nil pointer cannot be told from a pointer to nil", elem.Kind())
	}
	p.addressable = true
	c.walk(elem, p)
}

// own checks a type that encodes itself.
func (c *checker) own(t reflect.Type, p place) {
	use := codecOf(t)
	if why := use.fault(t); why != "" {
		c.find(p, "%s", why)
		return
	}
	if use.byPtr && !p.addressable {
		c.find(p, "%s are methods of *%v, which msgpack cannot call on a part of a map; give them value receivers or store pointers",
			codecPairs[use.enc].name, t)
	}
}

func (c *checker) kind(t reflect.Type, p place) {
	c.parts[t] = !isFlat(t)
	switch t.Kind() {
	case reflect.Struct:
		c.structure(t, p)
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			p.addressable = true
			c.walk(t.Elem(), p.at("[]"))
		}
	case reflect.Array:
		if t.Elem().Kind() != reflect.Uint8 {
			c.walk(t.Elem(), p.at("[]"))
		} else if !p.addressable && t.Elem() != reflect.TypeFor[byte]() {
			c.find(p, "msgpack cannot copy an array of %v out of a map", t.Elem())
		}
	case reflect.Map:
		if t.Key() != reflect.TypeFor[string]() || t.Elem() != reflect.TypeFor[string]() && t.Elem() != reflect.TypeFor[bool]() {
			if c.unordered == "" {
				c.unordered = p.path
			}
		}
		p.addressable = false
		c.walk(t.Elem(), p.at("[value]"))
		p.key = true
		c.walk(t.Key(), p.at("[key]"))
	case reflect.Uintptr:
		c.findings = append(c.findings, finding{p.path, "msgpack has no encoding of uintptr", true})
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		c.find(p, "it is a %v, which cannot be encoded", t.Kind())
	}
}

func (c *checker) structure(t reflect.Type, p place) {
	l := layoutOf(t)
	for _, f := range l.findings {
		f.path = p.path + f.path
		c.findings = append(c.findings, f)
	}
	for _, f := range l.fields {
		at := p.at(f.path)
		if f.omitEmpty {
			c.omitEmpty(f.typ, at)
		}
		c.walk(f.typ, at)
	}
}

// omitEmpty checks that what msgpack takes for empty in a type is the value that a missing field has.
func (c *checker) omitEmpty(t reflect.Type, p place) {
	zeroer := t.Implements(zeroerType)
	switch {
	case t.Kind() == reflect.Pointer && zeroer:
		c.find(p, "with omitempty msgpack does not write a pointer to something that IsZero, and it comes back nil")
	case t.Kind() == reflect.Struct && codecOf(t).own() && !zeroer:
		// msgpack looks at the exported fields for emptiness, and a type with methods of its own usually has none.
		c.find(p, "with omitempty msgpack never writes it, because %v has no method IsZero", t)
	}
}

var zeroerType = reflect.TypeFor[interface{ IsZero() bool }]()
