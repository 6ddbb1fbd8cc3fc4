package serde_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weirstream/weir/serde"
)

// Each target decodes any bytes: that may fail but not panic. What it accepts must encode, and what that encodes to must decode
// to a value with the same encoding, or, where maps have no order, with one as long. For canonical serdes the first encoding is
// the input itself.

func fuzz[T any](f *testing.F, s serde.Serde[T], values ...T) {
	for _, v := range values {
		data, err := s.Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, src []byte) {
		before := string(src)
		v, err := s.Decode(src)
		if string(src) != before {
			t.Fatalf("Decode changed its input")
		}
		if err != nil {
			return
		}
		first := mustAppend(t, s, v)
		if serde.Canonical(s) && string(first) != before {
			t.Fatalf("%x decodes to a value that encodes to %x", src, first)
		}
		again, err := s.Decode(first)
		if err != nil {
			t.Fatalf("%x decodes, but its encoding %x does not: %v", src, first, err)
		}
		second := mustAppend(t, s, again)
		if len(second) != len(first) || serde.CheckKey(s) == nil && string(second) != string(first) {
			t.Fatalf("%x became %x and then %x", src, first, second)
		}
	})
}

func mustAppend[T any](t *testing.T, s serde.Serde[T], v T) []byte {
	out, err := s.Append(nil, v)
	if err != nil {
		t.Fatalf("%v was decoded but does not encode: %v", fmt.Sprintf("%#v", v), err)
	}
	return out
}

func FuzzString(f *testing.F)  { fuzz(f, serde.String, "a") }
func FuzzBytes(f *testing.F)   { fuzz(f, serde.Bytes, []byte("a")) }
func FuzzBool(f *testing.F)    { fuzz(f, serde.Bool, true) }
func FuzzInt32(f *testing.F)   { fuzz(f, serde.Int32, -1) }
func FuzzInt64(f *testing.F)   { fuzz(f, serde.Int64, -1) }
func FuzzFloat64(f *testing.F) { fuzz(f, serde.Float64, -0.5) }
func FuzzUUID(f *testing.F)    { fuzz(f, serde.UUID, aMixed().UUID) }
func FuzzTime(f *testing.F)    { fuzz(f, serde.Time, time.Unix(1, 0)) }

func FuzzTimeWindowed(f *testing.F) {
	fuzz(f, serde.TimeWindowed(serde.String, time.Minute), windowKey("k", 0, 60_000))
}

func FuzzWindowed(f *testing.F) {
	fuzz(f, serde.Windowed(serde.Int64), windowKey(int64(7), -5, 60_000))
}

func FuzzMsgPack(f *testing.F) { fuzz(f, serde.MsgPack[mixed](), mixed{}, aMixed()) }
func FuzzMsgPackArray(f *testing.F) {
	fuzz(f, serde.MsgPack[mixed](serde.AsArray()), mixed{}, aMixed())
}
func FuzzMsgPackOwn(f *testing.F) { fuzz(f, serde.MsgPack[ownCodec](), ownCodec{1, "x"}) }

// The decoder follows input that has no type to stop it.
func FuzzMsgPackAny(f *testing.F) {
	fuzz(f, serde.MsgPack[map[string]any](), map[string]any{"a": []any{1, "x", nil}, "b": map[string]any{"c": time.Unix(1, 2)}})
}

func FuzzJSON(f *testing.F) { fuzz(f, serde.JSON[order](), anOrder) }

func FuzzProtobuf(f *testing.F) {
	v, err := structpb.NewStruct(map[string]any{"b": 1, "a": []any{"x", true, nil}})
	if err != nil {
		f.Fatal(err)
	}
	fuzz(f, serde.Protobuf[*structpb.Struct](), v)
}
