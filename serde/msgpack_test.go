package serde_test

import (
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weirstream/weir/serde"
)

func aMixed() mixed {
	at := time.Date(2031, 3, 4, 5, 6, 7, 891_011_012, time.UTC)
	return mixed{
		Int8: -128, Uint64: math.MaxUint64, Float32: 0.1, Bytes: []byte{0, 255}, Hash: [4]byte{1, 2, 3, 4}, Names: []string{"a", ""},
		Labels: map[string]string{"z": "1", "a": "2"}, Ptr: &anOrder, Orders: []order{anOrder, {}}, At: at,
		Times: map[string]time.Time{"x": at}, Maybe: &at, Wait: time.Minute, UUID: uuid.MustParse("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
		Addr: netip.MustParseAddr("::1"), Big: big.NewInt(-5), Pair: [2]int32{-1, 1}, Grade: 7,
		Next: &mixed{Addr: netip.MustParseAddr("10.0.0.1"), Bytes: []byte{}}, embedded: embedded{"in"},
	}
}

func TestMsgPackMixed(t *testing.T) {
	for _, s := range []serde.Serde[mixed]{serde.MsgPack[mixed](), serde.MsgPack[mixed](serde.AsArray()), defaultOf[mixed](t)} {
		for _, v := range []mixed{{}, aMixed()} {
			data, err := s.Append([]byte("x"), v)
			require.NoError(t, err)
			back, err := s.Decode(data[1:])
			require.NoError(t, err)
			require.Equal(t, v, back)
		}
	}
}

// Two encodings of a value are equal even where Go walks maps in random order.
func TestMsgPackSortsStringMaps(t *testing.T) {
	s := serde.MsgPack[map[string]string]()
	m := map[string]string{}
	for _, k := range strings.Split("the quick brown fox jumps over a lazy dog", " ") {
		m[k] = k
	}
	first, err := s.Append(nil, m)
	require.NoError(t, err)
	for range 50 {
		again, err := s.Append(nil, m)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}

func TestTimesComeBackInUTC(t *testing.T) {
	local := time.Local
	time.Local = time.FixedZone("machine", 5*3600)
	t.Cleanup(func() { time.Local = local })

	type stamps struct {
		At    time.Time
		Maybe *time.Time
		None  *time.Time
		List  []time.Time
		Pair  [2]time.Time
		Map   map[string][]time.Time
		NaNs  map[float64]time.Time
		Empty map[string]time.Time
		Next  *stamps
		embeddedTime
	}
	at := time.Date(2024, 7, 1, 8, 30, 0, 123_456_789, time.FixedZone("here", -7*3600))
	utc := at.UTC()
	v := stamps{
		At: at, Maybe: &at, List: []time.Time{at}, Pair: [2]time.Time{at}, Map: map[string][]time.Time{"a": {at}},
		Next: &stamps{At: at}, embeddedTime: embeddedTime{Seen: at},
	}
	want := stamps{
		At: utc, Maybe: &utc, List: []time.Time{utc}, Pair: [2]time.Time{utc}, Map: map[string][]time.Time{"a": {utc}},
		Next: &stamps{At: utc}, embeddedTime: embeddedTime{Seen: utc},
	}
	s := serde.MsgPack[stamps]()
	data, err := s.Append(nil, v)
	require.NoError(t, err)
	back, err := s.Decode(data)
	require.NoError(t, err)
	require.Equal(t, want, back)

	data, err = s.Append(nil, stamps{NaNs: map[float64]time.Time{math.NaN(): at, math.Inf(1): at}})
	require.NoError(t, err)
	back, err = s.Decode(data)
	require.NoError(t, err)
	require.Len(t, back.NaNs, 2)
	for _, got := range back.NaNs {
		require.Equal(t, utc, got)
	}
}

type embeddedTime struct{ Seen time.Time }

// Of types that contain each other, the one met first is left before it is known whether the other holds times.
type (
	chicken struct{ Egg *egg }
	egg     struct {
		Chicken *chicken
		Laid    time.Time
	}
)

func TestTimesInRecursiveTypes(t *testing.T) {
	at := time.Date(2024, 7, 1, 8, 30, 0, 0, time.FixedZone("here", -7*3600))
	s := serde.MsgPack[chicken]()
	data, err := s.Append(nil, chicken{&egg{&chicken{&egg{nil, at}}, at}})
	require.NoError(t, err)
	back, err := s.Decode(data)
	require.NoError(t, err)
	require.Equal(t, chicken{&egg{&chicken{&egg{nil, at.UTC()}}, at.UTC()}}, back)
}

func TestMsgPackFieldsMayBeAdded(t *testing.T) {
	type v1 struct{ A, B int }
	type v2 struct {
		B int
		C string
		A int
	}
	data, err := serde.MsgPack[v1]().Append(nil, v1{1, 2})
	require.NoError(t, err)
	newer, err := serde.MsgPack[v2]().Decode(data)
	require.NoError(t, err)
	require.Equal(t, v2{A: 1, B: 2}, newer)

	data, err = serde.MsgPack[v2]().Append(nil, v2{2, "c", 1})
	require.NoError(t, err)
	older, err := serde.MsgPack[v1]().Decode(data)
	require.NoError(t, err)
	require.Equal(t, v1{1, 2}, older)

	require.Equal(t, serde.Describe(serde.MsgPack[v1]()), serde.Describe(serde.MsgPack[v2]()))
	require.NotEqual(t, serde.Describe(serde.MsgPack[v1](serde.AsArray())), serde.Describe(serde.MsgPack[v2](serde.AsArray())))

	data, err = serde.MsgPack[v1](serde.AsArray()).Append(nil, v1{1, 2})
	require.NoError(t, err)
	_, err = serde.MsgPack[v2](serde.AsArray()).Decode(data)
	require.ErrorContains(t, err, "number of fields in array-encoded struct has changed")
}

func TestDescribeArrays(t *testing.T) {
	type leaf struct {
		F float32
		B []byte
	}
	type node struct {
		Leaf  leaf
		Leafs []leaf
		Kids  []*node
		At    time.Time
		Codec custom
		M     map[string]bool
		N     *float64
		Err   error
		C     chan int
	}
	const want = "msgpack-array:9(array:2(float32,bytes),[array:2(float32,bytes)],[...],time,own,map[string]bool,float64,any,invalid)"
	require.Equal(t, want, serde.Describe(serde.MsgPack[node](serde.AsArray())))
	require.Equal(t, "msgpack-map", serde.Describe(serde.MsgPack[node]()))
	require.Equal(t, "msgpack-...", serde.Describe(serde.MsgPack[ptrCycle]()))
}

// A value that contains itself would have the encoder use up the stack, which ends the program.
func TestMsgPackOfCycles(t *testing.T) {
	s := serde.MsgPack[list]()
	loop := list{}
	loop.Next = &loop
	out, err := s.Append([]byte("kept"), loop)
	require.ErrorContains(t, err, "contains itself")
	require.Equal(t, "kept", string(out))

	forest := tree{Kids: map[string][]tree{}}
	forest.Kids["self"] = []tree{forest}
	_, err = serde.MsgPack[tree]().Append(nil, forest)
	require.ErrorContains(t, err, "contains itself")

	// The deepest value that can be written can be read, and one level more is refused by both sides.
	deep := list{}
	for range 9_999 {
		deep = list{Next: &list{Next: deep.Next}}
	}
	data, err := s.Append(nil, deep)
	require.NoError(t, err)
	back, err := s.Decode(data)
	require.NoError(t, err)
	n := 0
	for l := &back; l != nil; l = l.Next {
		n++
	}
	require.Equal(t, 10_000, n)

	_, err = s.Append(nil, list{Next: &list{Next: deep.Next}})
	require.ErrorContains(t, err, "nested deeper")
	_, err = s.Decode([]byte(strings.Repeat("\x81\xa4Next", 10_001) + "\xc0"))
	require.ErrorContains(t, err, "nested deeper")
}

func TestOwnCodec(t *testing.T) {
	s := serde.MsgPack[ownCodec]()
	const data = "\x92\xce\x00\x00\x00\x07\xd9\x02ab"
	both(t, "value", s, ownCodec{7, "ab"}, []byte(data))
	both(t, "pointer", serde.MsgPack[*ownCodec](), &ownCodec{7, "ab"}, []byte(data))
	both(t, "nil", serde.MsgPack[*ownCodec](), nil, []byte{0xc0})

	_, err := s.Decode([]byte(data))
	require.NoError(t, err)
	back, err := s.Decode([]byte("\x92\xce\x00\x00\x00\x01\xd9\x00"))
	require.NoError(t, err)
	require.Equal(t, ownCodec{1, ""}, back, "nothing is left of the value before")

	_, err = s.Decode([]byte(data + "xyz"))
	require.ErrorContains(t, err, "MessagePack of 13 bytes is no serde_test.ownCodec: 3 bytes trail it")
	_, err = s.Decode([]byte(data[:4]))
	require.ErrorContains(t, err, "panic: runtime error: index out of range")
	_, err = serde.MsgPack[*ownCodec]().Decode(nil)
	require.ErrorContains(t, err, "panic")
	out, err := s.Append([]byte("kept"), ownCodec{name: "bad"})
	require.ErrorContains(t, err, "bad name")
	require.Equal(t, "kept", string(out))
}

// A type with an encoder of its own may leave the library's encoder changed; the next record must not notice.
func TestCustomEncoderLeavesNoTrace(t *testing.T) {
	type wrapper struct {
		N int
		C custom
	}
	s := serde.MsgPack[wrapper]()
	for range 3 {
		both(t, "wrapper", s, wrapper{0, custom{2}}, []byte("\x82\xa1N\x00\xa1C\x02"))
	}
}

// greedy reads more or less than it wrote.
//
//lint:ignore U1000 fields that get lost are what is tested
type greedy struct{ reads int }

func (g greedy) EncodeMsgpack(e *msgpack.Encoder) error { return e.EncodeInt(1) }
func (g *greedy) DecodeMsgpack(d *msgpack.Decoder) error {
	if code, err := d.PeekCode(); err != nil || code == 0x05 {
		return err // reads nothing
	}
	panic("greedy")
}

func TestCodecsThatMisbehave(t *testing.T) {
	s := serde.MsgPack[greedy]()
	_, err := s.Decode([]byte{0x05})
	require.ErrorContains(t, err, "only 0 bytes of it were read")
	_, err = s.Decode([]byte{0x01})
	require.ErrorContains(t, err, "is no serde_test.greedy: panic: greedy")
}

func TestCheckKey(t *testing.T) {
	type deep struct {
		A map[string]string
		B []map[int]bool
	}
	require.NoError(t, serde.CheckKey(serde.String))
	require.NoError(t, serde.CheckKey(ownSerde{}))
	require.NoError(t, serde.CheckKey(serde.MsgPack[order]()))
	require.NoError(t, serde.CheckKey(serde.MsgPack[map[string]bool]()))
	require.NoError(t, serde.CheckKey(serde.JSON[deep]()))
	const want = "the map at serde_test.deep.B[] is written in no fixed order"
	require.ErrorContains(t, serde.CheckKey(serde.MsgPack[deep]()), want)
	require.ErrorContains(t, serde.CheckKey(defaultOf[deep](t)), want)
	require.ErrorContains(t, serde.CheckKey(serde.Windowed(serde.MsgPack[deep]())), want)
	require.ErrorContains(t, serde.CheckKey(serde.TimeWindowed(serde.MsgPack[deep](), time.Second)), want)
}

// One serde is used by several goroutines, each of which must see its own values only.
func TestConcurrentUse(t *testing.T) {
	s, j, o := serde.MsgPack[mixed](), serde.JSON[order](), serde.MsgPack[ownCodec]()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				m, or, ow := aMixed(), anOrder, ownCodec{uint32(g), "x"}
				m.Uint64, or.Items = uint64(g*1000+i), g*1000+i
				if !sameBack(s, m) || !sameBack(j, or) || !sameBack(o, ow) {
					t.Errorf("goroutine %d, round %d: another value came back", g, i)
					return
				}
			}
		})
	}
	wg.Wait()
}

func sameBack[T any](s serde.Serde[T], v T) bool {
	data, err := s.Append(nil, v)
	if err != nil {
		return false
	}
	back, err := s.Decode(data)
	return err == nil && reflect.DeepEqual(v, back)
}
