package serde

import (
	"reflect"
	"time"
)

// msgpack brings times back in the zone of the machine, so the same bytes would print differently on two instances. After
// decoding, toUTC moves them to UTC.

// holdersOfTime returns, for t and the types that it is made of, whether a time.Time may be inside. Types that encode themselves
// look after their own times.
func holdersOfTime(t reflect.Type) map[reflect.Type]bool {
	holders := map[reflect.Type]bool{}
	// A type that contains itself is first taken to hold none; each round corrects that until nothing changes.
	for size := -1; size != countTrue(holders); {
		size = countTrue(holders)
		holdsTime(t, holders, map[reflect.Type]bool{})
	}
	return holders
}

func countTrue(m map[reflect.Type]bool) (n int) {
	for _, v := range m {
		if v {
			n++
		}
	}
	return n
}

func holdsTime(t reflect.Type, holders, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return holders[t]
	}
	seen[t] = true
	for _, part := range partsOf(t) {
		if holdsTime(part, holders, seen) {
			holders[t] = true
		}
	}
	if t == timeType {
		holders[t] = true
	}
	return holders[t]
}

// partsOf returns the types that a value of type t directly contains, as far as msgpack itself decodes them. Times in keys of
// maps are left alone: a map cannot be changed under its keys.
func partsOf(t reflect.Type) (parts []reflect.Type) {
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && codecOf(t).own() {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return []reflect.Type{t.Elem()}
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.PkgPath == "" || f.Anonymous {
				parts = append(parts, f.Type)
			}
		}
	}
	return parts
}

// toUTC moves all times in v, which must be addressable, to UTC.
func toUTC(v reflect.Value, holders map[reflect.Type]bool) {
	t := v.Type()
	if !holders[t] {
		return
	}
	if t == timeType {
		p := v.Addr().Interface().(*time.Time)
		*p = p.UTC()
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			toUTC(v.Elem(), holders)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			toUTC(v.Index(i), holders)
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		// Into a map of its own: setting a key that is not a number in the map itself would add it once more, without end.
		moved := reflect.MakeMapWithSize(t, v.Len())
		for it := v.MapRange(); it.Next(); {
			elem := reflect.New(t.Elem()).Elem()
			elem.Set(it.Value())
			toUTC(elem, holders)
			moved.SetMapIndex(it.Key(), elem)
		}
		v.Set(moved)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.PkgPath == "" || f.Anonymous {
				toUTC(v.Field(i), holders)
			}
		}
	}
}
