package serde_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirstream/weir/serde"
)

// TestGoldenEncodings pins the bytes of our own formats, and that those very bytes decode to the value. Run it with -rewrite
// after a change that is meant.
func TestGoldenEncodings(t *testing.T) {
	datadriven.RunTest(t, "testdata/encodings.txt", func(t *testing.T, d *datadriven.TestData) string {
		name := d.CmdArgs[0].Key + " " + d.CmdArgs[1].Key
		encode, ok := goldenValues(t)[name]
		require.True(t, ok, name)
		var pinned []byte
		if d.Expected != "" && !d.Rewrite {
			text, err := strconv.Unquote(strings.TrimSpace(strings.SplitN(d.Expected, "\n", 2)[1]))
			require.NoError(t, err)
			pinned = []byte(text)
		}
		data := encode(pinned)
		return fmt.Sprintf("%d bytes\n%s\n", len(data), quoteBytes(data))
	})
}

// The values of TestGoldenEncodings.
type goldenIntegers struct {
	I   int
	I8  int8
	I64 [6]int64
	U64 uint64
	F32 float32
	F64 float64
	B   bool
}

type goldenStrings struct {
	Empty, Short, Long string
	Bytes, None        []byte
	Array              [3]byte
}

type goldenTimes struct{ Zero, Seconds, Nanos, Old time.Time }

type goldenMaps struct {
	Sorted map[string]string
	Flags  map[string]bool
	One    map[int]order
	Nil    map[string]string
	Empty  map[string]string
	List   []*order
}

type goldenCodecs struct {
	UUID   uuid.UUID
	Custom custom
	Grade  grade
	Wait   time.Duration
}

type goldenOuter struct {
	embedded
	Base
	After int
}

type goldenTags struct {
	Renamed int    `msgpack:"r"`
	Omitted string `msgpack:",omitempty"`
	Kept    string `msgpack:"k,omitempty"`
}

func goldenValues(t *testing.T) map[string]func(pinned []byte) []byte {
	pair, err := structpb.NewStruct(map[string]any{"b": 1, "a": []any{"x", true, nil}})
	require.NoError(t, err)
	at := time.Date(2024, 2, 29, 12, 30, 45, 0, time.UTC)
	return map[string]func([]byte) []byte{
		"msgpack order":       golden(t, serde.MsgPack[order](), anOrder),
		"msgpack-array order": golden(t, serde.MsgPack[order](serde.AsArray()), anOrder),
		"json order":          golden(t, serde.JSON[order](), anOrder),
		"msgpack integers": golden(t, serde.MsgPack[goldenIntegers](), goldenIntegers{
			I: -32, I8: -33, I64: [6]int64{127, 128, 65_536, -129, 1 << 40, -1 << 63}, U64: 1<<64 - 1, F32: 1.5, F64: -0.5, B: true,
		}),
		"msgpack strings": golden(t, serde.MsgPack[goldenStrings](), goldenStrings{
			Short: "日本", Long: strings.Repeat("x", 40), Bytes: []byte{0, 255}, Array: [3]byte{1, 2, 3},
		}),
		"msgpack times": golden(t, serde.MsgPack[goldenTimes](), goldenTimes{
			Seconds: at, Nanos: at.Add(7), Old: time.Date(1901, 1, 1, 0, 0, 0, 9, time.UTC),
		}),
		"msgpack maps": golden(t, serde.MsgPack[goldenMaps](), goldenMaps{
			Sorted: map[string]string{"b": "2", "a": "1"}, Flags: map[string]bool{"y": true, "x": false}, One: map[int]order{-1: {}},
			Empty: map[string]string{}, List: []*order{nil, {ID: "o"}},
		}),
		"msgpack codecs":     golden(t, serde.MsgPack[goldenCodecs](), goldenCodecs{uuid.UUID{15: 1}, custom{-1}, 300, time.Second}),
		"msgpack embedded":   golden(t, serde.MsgPack[goldenOuter](), goldenOuter{embedded{"in"}, Base{1, 2}, 3}),
		"msgpack tags":       golden(t, serde.MsgPack[goldenTags](), goldenTags{Renamed: 1, Kept: "x"}),
		"msgpack nil":        golden(t, serde.MsgPack[*order](), nil),
		"json html":          golden(t, serde.JSON[map[string]string](), map[string]string{"b": "<a>&", "a": "é"}),
		"protobuf string":    golden(t, serde.Protobuf[*wrapperspb.StringValue](), wrapperspb.String("héllo")),
		"protobuf int64":     golden(t, serde.Protobuf[*wrapperspb.Int64Value](), wrapperspb.Int64(-1)),
		"protobuf timestamp": golden(t, serde.Protobuf[*timestamppb.Timestamp](), timestamppb.New(at.Add(7))),
		"protobuf struct":    golden(t, serde.Protobuf[*structpb.Struct](), pair),
		"default time":       golden(t, defaultOf[time.Time](t), at.Add(7)),
		"default grade":      golden(t, defaultOf[grade](t), 300),
		"time-windowed key":  golden(t, serde.TimeWindowed(serde.String, time.Minute), windowKey("k", 60_000, 120_000)),
		"windowed key":       golden(t, serde.Windowed(serde.MsgPack[Base]()), windowKey(Base{1, 2}, 0, 1_000)),
	}
}

// quoteBytes is strconv.Quote for bytes that are not text: all but printable ASCII is \xNN.
func quoteBytes(data []byte) string {
	var out strings.Builder
	for _, c := range data {
		if c >= 0x80 {
			fmt.Fprintf(&out, `\x%02x`, c)
			continue
		}
		quoted := strconv.Quote(string(rune(c)))
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return `"` + out.String() + `"`
}

// golden returns a function that encodes v and checks that v comes back from that and from the pinned bytes, if there are any.
func golden[T any](t *testing.T, s serde.Serde[T], v T) func([]byte) []byte {
	return func(pinned []byte) []byte {
		data, err := s.Append(nil, v)
		require.NoError(t, err)
		sources := [][]byte{data}
		if pinned != nil {
			sources = append(sources, pinned)
		}
		for _, src := range sources {
			back, err := s.Decode(src)
			require.NoError(t, err)
			if m, ok := any(v).(proto.Message); ok {
				require.True(t, proto.Equal(m, any(back).(proto.Message)), "%v", back)
				continue
			}
			require.Equal(t, v, back)
		}
		return data
	}
}
