package serde

import (
	"fmt"
)

// String is the serde of strings: their bytes as they are, Kafka's String serde. Bytes that are not UTF-8 pass unchanged, where
// Java would replace them.
var String stringSerde

type stringSerde struct{}

func (stringSerde) Append(dst []byte, v string) ([]byte, error) { return append(dst, v...), nil }
func (stringSerde) Decode(src []byte) (string, error)           { return string(src), nil }
func (stringSerde) Describe() string                            { return "string" }
func (stringSerde) canonical() bool                             { return true }

// Bytes is the serde of byte slices: the bytes as they are, Kafka's ByteArray serde. A nil slice comes back empty.
var Bytes bytesSerde

type bytesSerde struct{}

func (bytesSerde) Append(dst, v []byte) ([]byte, error) { return append(dst, v...), nil }
func (bytesSerde) Decode(src []byte) ([]byte, error) {
	return append(make([]byte, 0, len(src)), src...), nil
}
func (bytesSerde) Describe() string { return "bytes" }
func (bytesSerde) canonical() bool  { return true }

// Bool is the serde of booleans: one byte, 0 or 1, Kafka's Boolean serde.
var Bool boolSerde

type boolSerde struct{}

func (boolSerde) Append(dst []byte, v bool) ([]byte, error) {
	if v {
		return append(dst, 1), nil
	}
	return append(dst, 0), nil
}

func (boolSerde) Decode(src []byte) (bool, error) {
	if len(src) != 1 {
		return false, sizeError("bool", len(src), 1)
	}
	if src[0] > 1 {
		return false, fmt.Errorf("serde: bool of byte 0x%02x, want 0 or 1", src[0])
	}
	return src[0] == 1, nil
}

func (boolSerde) Describe() string { return "bool" }
func (boolSerde) canonical() bool  { return true }
