package serde

import (
	"fmt"
	"reflect"
	"strings"
)

// shape describes what msgpack writes for t, for Describe. Structs written as maps are not looked into, since they may change.
func shape(t reflect.Type, asArray bool) string {
	return shapeWithin(t, asArray, map[reflect.Type]bool{})
}

func shapeWithin(t reflect.Type, asArray bool, open map[reflect.Type]bool) string {
	switch {
	case t == timeType:
		return "time"
	case t.Kind() == reflect.Interface:
		return "any"
	case t.Kind() == reflect.Pointer:
		if open[t] {
			return "..."
		}
		open[t] = true
		defer delete(open, t)
		return shapeWithin(t.Elem(), asArray, open)
	case codecOf(t).own():
		return "own"
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64:
		return t.Kind().String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "int" // written in as few bytes as the number needs, whatever its type
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
	case reflect.Map, reflect.Struct:
	default:
		return "invalid"
	}
	if open[t] {
		return "..."
	}
	open[t] = true
	defer delete(open, t)
	return shapeOfParts(t, asArray, open)
}

// shapeOfParts describes the types that contain others.
func shapeOfParts(t reflect.Type, asArray bool, open map[reflect.Type]bool) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "[" + shapeWithin(t.Elem(), asArray, open) + "]"
	case reflect.Map:
		return "map[" + shapeWithin(t.Key(), asArray, open) + "]" + shapeWithin(t.Elem(), asArray, open)
	}
	l := layoutOf(t)
	if !asArray && !l.asArray {
		return "map"
	}
	kinds := make([]string, len(l.fields))
	for i, f := range l.fields {
		kinds[i] = shapeWithin(f.typ, asArray, open)
	}
	return fmt.Sprintf("array:%d(%s)", len(kinds), strings.Join(kinds, ","))
}
