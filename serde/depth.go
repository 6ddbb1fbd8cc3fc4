package serde

import (
	"fmt"
	"reflect"
)

// checkDepth returns an error if v is nested deeper than what Decode accepts, as a value that points to itself is: the encoder
// would follow it until the program's stack is used up. It is called for types that contain themselves only, and follows the
// types in parts.
func checkDepth(v reflect.Value, parts map[reflect.Type]bool, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested deeper than %d, or contains itself", maxDepth)
	}
	if !parts[v.Type()] {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return checkDepth(v.Elem(), parts, depth)
		}
	case reflect.Slice, reflect.Array:
		if !parts[v.Type().Elem()] {
			return nil
		}
		for i := range v.Len() {
			if err := checkDepth(v.Index(i), parts, depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		if !parts[v.Type().Elem()] {
			return nil
		}
		for it := v.MapRange(); it.Next(); {
			if err := checkDepth(it.Value(), parts, depth+1); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := checkDepth(v.Field(i), parts, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// isFlat reports whether values of type t hold no others.
func isFlat(t reflect.Type) bool { return t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String }
