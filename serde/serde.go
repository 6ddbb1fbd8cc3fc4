package serde

import "fmt"

// A Serde encodes and decodes values of type T. Equal values must encode to equal bytes when the serde is used for keys. It
// is called from several goroutines at once.
//
// A serde of your own may have a method Describe() string, which [Describe] returns.
type Serde[T any] interface {
	// Append appends the encoding of v to dst and returns the longer slice. After an error it returns dst.
	Append(dst []byte, v T) ([]byte, error)
	// Decode decodes src, all of it. It must not keep or change src, which is reused after the call.
	Decode(src []byte) (T, error)
}

// Canonical reports whether s writes every value in exactly one way and reads no other, so that the bytes that Decode accepted
// are the bytes that Append would write. The engine then takes a record's key as it came instead of encoding it again. It is
// true for String, Bytes, Bool, Int32, Int64, UUID, Time and windowed keys of those, and false for all else: JSON, MessagePack
// and protobuf have many ways to write a value, and Float64 has many NaNs.
func Canonical(s any) bool {
	c, ok := s.(interface{ canonical() bool })
	return ok && c.canonical()
}

// Describe returns a short text that stays the same while s can read what was written before, for example "int64",
// "msgpack-map" or "msgpack-array:2(string,int)". It is kept beside stored state, so that a program whose encoding has changed
// can be told before it reads old bytes.
//
// A struct in MessagePack maps, JSON or protobuf may gain fields, so the text names the format only. In arrays the fields have
// no names, so the text holds their kinds and order. A serde of your own is described by its method Describe() string or else
// by the name of its Go type.
func Describe(s any) string {
	if d, ok := s.(interface{ Describe() string }); ok {
		return d.Describe()
	}
	return fmt.Sprintf("%T", s)
}

// CheckKey says why s cannot be used for keys, or returns nil. Equal keys must have equal bytes, or records with one key
// end up in several groups; MessagePack writes Go maps other than map[string]string and map[string]bool in no fixed order.
func CheckKey(s any) error {
	if c, ok := s.(interface{ checkKey() error }); ok {
		return c.checkKey()
	}
	return nil
}

// sizeError is the error of a fixed-width value of another width.
func sizeError(name string, got, want int) error {
	return fmt.Errorf("serde: %s of %d bytes, want %d", name, got, want)
}
