package serde

import (
	"reflect"
	"unsafe"
)

// named is the serde of a type T that has the same representation in memory as B.
type named[T, B any] struct {
	base Serde[B]
	desc string
}

func (s named[T, B]) Append(dst []byte, v T) ([]byte, error) {
	return s.base.Append(dst, *(*B)(unsafe.Pointer(&v)))
}

func (s named[T, B]) Decode(src []byte) (T, error) {
	v, err := s.base.Decode(src)
	return *(*T)(unsafe.Pointer(&v)), err
}

func (s named[T, B]) Describe() string { return s.desc }
func (s named[T, B]) canonical() bool  { return Canonical(s.base) }

// ofKind returns the built-in serde for the kind of T, such as that of string for type UserID string, or nil.
func ofKind[T any]() Serde[T] {
	t := reflect.TypeFor[T]()
	switch t.Kind() {
	case reflect.String:
		return named[T, string]{String, "string"}
	case reflect.Bool:
		return named[T, bool]{Bool, "bool"}
	case reflect.Int32:
		return named[T, int32]{Int32, "int32"}
	case reflect.Uint32:
		return named[T, int32]{Int32, "uint32"}
	case reflect.Int64:
		return named[T, int64]{Int64, "int64"}
	case reflect.Uint64:
		return named[T, int64]{Int64, "uint64"}
	case reflect.Float64:
		return named[T, float64]{Float64, "float64"}
	case reflect.Int:
		if t.Size() == 8 {
			return named[T, int64]{Int64, "int64"}
		}
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			return named[T, []byte]{Bytes, "bytes"}
		}
	}
	return nil
}
