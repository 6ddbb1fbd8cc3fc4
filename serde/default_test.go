package serde_test

import (
	"encoding"
	"fmt"
	"math/big"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

type (
	textOnly  struct{ V int } // MarshalText without UnmarshalText
	ptrText   struct{ v int } // both on the pointer
	stamped   struct{ time.Time }
	selfEmbed struct{ *selfEmbed }
	ptrCycle  *ptrCycle
	named     [4]namedByte
	namedByte byte
	list      struct{ Next *list }
	tree      struct{ Kids map[string][]tree }
	twoViews  map[string]int // text methods on the value, binary ones on the pointer
	//lint:ignore U1000 fields that get lost are what is tested
	half       struct{ x int } // MarshalMsg without UnmarshalMsg
	withCustom struct {
		custom
		Other string
	}
	withOwn struct {
		ownCodec
		Other string
	}
	overrides struct {
		custom
		Other string
	}
	Base struct{ A, B int }
)

func (textOnly) MarshalText() ([]byte, error)              { return nil, nil }
func (p *ptrText) MarshalText() ([]byte, error)            { return fmt.Append(nil, p.v), nil }
func (p *ptrText) UnmarshalText(b []byte) error            { _, err := fmt.Sscan(string(b), &p.v); return err }
func (twoViews) MarshalText() ([]byte, error)              { return nil, nil }
func (twoViews) UnmarshalText([]byte) error                { return nil }
func (*twoViews) MarshalBinary() ([]byte, error)           { return nil, nil }
func (*twoViews) UnmarshalBinary([]byte) error             { return nil }
func (half) MarshalMsg(b []byte) ([]byte, error)           { return b, nil }
func (o overrides) EncodeMsgpack(e *msgpack.Encoder) error { return e.Encode([]any{o.secret, o.Other}) }
func (o *overrides) DecodeMsgpack(d *msgpack.Decoder) error {
	if _, err := d.DecodeArrayLen(); err != nil {
		return err
	}
	return d.DecodeMulti(&o.secret, &o.Other)
}

// refuses checks that there is no default for T and that the error names each of the given parts.
func refuses[T any](t *testing.T, name string, parts ...string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		_, err := serde.Default[T]()
		require.Error(t, err)
		for _, part := range parts {
			require.ErrorContains(t, err, part)
		}
	})
}

func TestDefaultRefusesFields(t *testing.T) {
	type line struct {
		Price float64
		//lint:ignore U1000 fields that get lost are what is tested
		price int
	}
	type cart struct {
		Lines []line
		ByID  map[string]*line
		//lint:ignore U1000 fields that get lost are what is tested
		mu sync.Mutex
	}
	refuses[cart](t, "unexported, nested, all of them",
		"no default for serde_test.cart", ".mu: it is unexported", ".Lines[].price: it is unexported")
	refuses[map[string]line](t, "unexported in a map", "map[string]serde_test.line[value].price")
	refuses[*struct{ x int }](t, "unexported behind a pointer", ".x: it is unexported")
	refuses[struct {
		X int `msgpack:"-"`
	}](t, "tag -", `.X: it has the tag "-"`)
	refuses[window.Key[string]](t, "window key", ".Span: ", "use serde.Windowed or serde.TimeWindowed")
	refuses[timestamppb.Timestamp](t, "message by value", "use *timestamppb.Timestamp")
	refuses[struct{ T *timestamppb.Timestamp }](t, "message as a field", ".T.state: it is unexported")
}

func TestDefaultRefusesKinds(t *testing.T) {
	refuses[struct{ V any }](t, "any", ".V: it is an interface")
	refuses[struct{ E []error }](t, "error", ".E[]: it is an interface (error)")
	refuses[fmt.Stringer](t, "interface", "fmt.Stringer: it is an interface")
	refuses[encoding.BinaryMarshaler](t, "interface with a codec's methods", "it is an interface")
	refuses[struct{ F func() }](t, "func", ".F: it is a func")
	refuses[chan int](t, "chan", "it is a chan")
	refuses[struct{ C complex64 }](t, "complex", ".C: it is a complex64")
	refuses[struct{ P uintptr }](t, "uintptr", ".P: msgpack has no encoding of uintptr")
	refuses[unsafe.Pointer](t, "unsafe pointer", "it is a unsafe.Pointer")
	refuses[struct{ P **int }](t, "pointer to pointer", ".P: it points to a ptr")
	refuses[struct{ P *[]int }](t, "pointer to slice", ".P: it points to a slice")
	refuses[*map[string]int](t, "pointer to map", "it points to a map")
	refuses[map[*int]int](t, "pointer in key", "[key]: a pointer in a map's key")
	refuses[map[time.Time]int](t, "time in key", "[key]: a time.Time in a map's key")
	refuses[map[struct{ T time.Time }]int](t, "time deep in key", "[key].T: a time.Time")
	refuses[map[string]named](t, "array of named bytes in a map", "cannot copy an array")
	refuses[ptrCycle](t, "pointers without end", "points to pointers without end")
}

func TestDefaultRefusesMethods(t *testing.T) {
	refuses[textOnly](t, "half a codec", "encode it by MarshalText but decode it by its fields or kind")
	refuses[twoViews](t, "two codecs", "may be encoded in two ways")
	refuses[map[string]ptrText](t, "codec of the pointer in a map",
		"[value]: MarshalText and UnmarshalText are methods of *serde_test.ptrText")
	refuses[map[string]struct{ B big.Int }](t, "codec of the pointer deep in a map", "[value].B: ")
	refuses[withCustom](t, "promoted codec", "from an embedded field, which would be encoded alone")
	refuses[struct {
		time.Time
		N int
	}](t, "promoted codec of a time", "MarshalBinary and UnmarshalBinary from an embedded field")
	refuses[struct {
		*big.Int
		N int
	}](t, "promoted codec through a pointer", "MarshalText and UnmarshalText from an embedded field")
	refuses[struct {
		Inner withCustom
	}](t, "promoted codec within", ".Inner: it has EncodeMsgpack")
	refuses[withOwn](t, "promoted MarshalMsg does not count", ".ownCodec.hits: it is unexported")
	refuses[half](t, "half of MarshalMsg does not count", ".x: it is unexported")
}

func TestDefaultRefusesEmbeddingsAndTags(t *testing.T) {
	refuses[selfEmbed](t, "embeds itself", "it embeds a type in itself")
	refuses[struct{ *Base }](t, "embedded pointer", ".Base: it is an embedded pointer")
	refuses[struct{ embeddedInt }](t, "embedded unexported int", ".embeddedInt: it is of an unexported type")
	refuses[struct {
		A int
		B int `msgpack:"A"`
	}](t, "one name twice", `.B: it and A are both written under the name "A"`)
	refuses[struct {
		A string
		Base
		X int `msgpack:"Base"`
	}](t, "shadowed embedded struct", `under the name "Base"`)
	refuses[struct {
		Base `msgpack:",inline"`
		A    string
	}](t, "inlined and shadowed", `.A: it and Base.A are both`)
	refuses[struct {
		A int `msgpack:"a,alias:b"`
		B int `msgpack:"b"`
	}](t, "alias taken", `under the name "b"`)
	refuses[struct {
		B big.Int `msgpack:",omitempty"`
	}](t, "omitempty of a codec", "with omitempty msgpack never writes it")
	refuses[struct {
		T *time.Time `msgpack:",omitempty"`
	}](t, "omitempty of a pointer to something that may be zero", ".T: with omitempty msgpack does not write a pointer")
	refuses[struct {
		_msgpack struct{} `msgpack:",omitempty"`
		B        big.Int
	}](t, "omitempty for all", ".B: with omitempty msgpack never writes it")
	refuses[struct {
		S string `msgpack:",intern"`
	}](t, "intern", ".S: interned strings need a stream")
}

type embeddedInt int

// takes checks that T has a default, of the given description, which brings each value back.
func takes[T any](t *testing.T, describe string, values ...T) {
	t.Helper()
	s, err := serde.Default[T]()
	require.NoError(t, err)
	require.Equal(t, describe, serde.Describe(s), "%T", *new(T))
	for _, v := range values {
		data, err := s.Append(nil, v)
		require.NoError(t, err)
		back, err := s.Decode(data)
		require.NoError(t, err)
		require.Equal(t, v, back)
	}
}

func TestDefaultTakes(t *testing.T) {
	type userID string
	type flags uint32
	type payload []byte
	type loud bool
	now := time.Date(2024, 2, 29, 1, 2, 3, 456_789_012, time.UTC)
	takes(t, "string", "", "a", "\xff")
	takes(t, "bytes", []byte{}, []byte{1})
	takes(t, "bool", true, false)
	takes(t, "int32", int32(-1))
	takes(t, "int64", int64(-1))
	takes(t, "float64", 1.5)
	takes(t, "uuid", uuid.MustParse("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"))
	takes(t, "string", userID("u1"))
	takes(t, "uint32", flags(1<<31))
	takes(t, "uint64", uint64(1<<63))
	takes(t, "bytes", payload("x"))
	takes(t, "bool", loud(true))
	takes(t, "int64", -7, 1<<40)
	takes(t, "int64", time.Second, -1)
	takes(t, "msgpack-int", grade(-3), 300)
	takes(t, "msgpack-int", uint8(200))
	takes(t, "msgpack-float32", float32(0.1))
	takes(t, "msgpack-time", now, time.Time{})
	takes(t, "msgpack-map", struct{}{})
	takes(t, "msgpack-map", anOrder, order{})
	takes(t, "msgpack-map", &anOrder, nil)
	takes(t, "msgpack-map", Base{1, 2})
	takes(t, "msgpack-map", struct {
		_ int
		Base
		C int
	}{Base: Base{1, 2}, C: 3})
	takes(t, "msgpack-map", struct {
		Base `msgpack:",noinline"`
		A    string
	}{Base{1, 2}, "x"})
	takes(t, "msgpack-map", struct { // the embedded struct is kept apart, as a map within the map
		A string
		Base
	}{"x", Base{1, 2}})
	takes(t, "msgpack-[map]", []order{anOrder}, []order{}, nil)
	takes(t, "msgpack-map[string][string]", map[string][]string{"a": {"b"}, "c": nil, "d": {}}, nil)
	takes(t, "msgpack-map[int]map", map[int32]order{1: anOrder, -5: {}})
	takes(t, "msgpack-map", list{&list{&list{}}})
	takes(t, "msgpack-map", tree{map[string][]tree{"a": {{}, {map[string][]tree{}}}}})
	takes(t, "msgpack-own", ownCodec{3, "x"}, ownCodec{})
	takes(t, "msgpack-own", &ownCodec{3, "x"}, nil)
	takes(t, "msgpack-own", custom{5})
	takes(t, "msgpack-own", ptrText{5})
	takes(t, "msgpack-own", overrides{custom{4}, "x"})
	takes(t, "msgpack-own", stamped{now})
	takes(t, "msgpack-map", struct{ P *ptrText }{&ptrText{4}}, struct{ P *ptrText }{})
	takes(t, "msgpack-map", struct{ M map[string]*ptrText }{map[string]*ptrText{"a": {4}}})
	takes(t, "msgpack-map", struct{ S []big.Int }{[]big.Int{*big.NewInt(7)}})
	takes(t, "msgpack-array:2(int,string)", struct {
		_msgpack struct{} `msgpack:",as_array"`
		A        int
		B        string
	}{A: 1, B: "x"})

	s := defaultOf[*wrapperspb.StringValue](t)
	require.Equal(t, "protobuf:google.protobuf.StringValue", serde.Describe(s))
}

// A type that msgpack must not be tried on is refused by each call, since the constructor cannot fail.
func TestMsgPackOfImpossibleTypes(t *testing.T) {
	neverEncodes(t, selfEmbed{}, "embeds a type in itself")
	neverEncodes(t, ptrCycle(nil), "pointers without end")
	neverEncodes(t, struct{ P uintptr }{}, "uintptr")
	neverEncodes(t, struct {
		S string `msgpack:",intern"`
	}{}, "interned strings")

	out, err := serde.MsgPack[struct {
		A string
		C chan int
	}]().Append([]byte("kept"), struct {
		A string
		C chan int
	}{A: "written before the error"})
	require.ErrorContains(t, err, "unsupported chan int")
	require.Equal(t, "kept", string(out))
}

func neverEncodes[T any](t *testing.T, v T, want string) {
	t.Helper()
	s := serde.MsgPack[T]()
	out, err := s.Append([]byte("kept"), v)
	require.ErrorContains(t, err, want)
	require.Equal(t, "kept", string(out))
	_, err = s.Decode([]byte{0xc0})
	require.ErrorContains(t, err, want)
}
