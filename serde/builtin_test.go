package serde_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// decodes adapts Decode of any serde to one signature.
func decodes[T any](s serde.Serde[T]) func([]byte) error {
	return func(src []byte) error { _, err := s.Decode(src); return err }
}

func TestDecodeRefusesOtherSizes(t *testing.T) {
	const id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
	for _, c := range []struct {
		name   string
		decode func([]byte) error
		src    string
		want   string
	}{
		{"int32 short", decodes(serde.Int32), "abc", "serde: int32 of 3 bytes, want 4"},
		{"int32 trailing", decodes(serde.Int32), "abcde", "serde: int32 of 5 bytes, want 4"},
		{"int64 empty", decodes(serde.Int64), "", "serde: int64 of 0 bytes, want 8"},
		{"int64 trailing", decodes(serde.Int64), "123456789", "serde: int64 of 9 bytes, want 8"},
		{"float64 short", decodes(serde.Float64), "1234567", "serde: float64 of 7 bytes, want 8"},
		{"bool empty", decodes(serde.Bool), "", "serde: bool of 0 bytes, want 1"},
		{"bool two", decodes(serde.Bool), "\x01\x01", "serde: bool of 2 bytes, want 1"},
		{"bool other", decodes(serde.Bool), "\x02", "serde: bool of byte 0x02, want 0 or 1"},
		{"time short", decodes(serde.Time), "1", "serde: time of 1 bytes, want 8"},
		{"time range", decodes(serde.Time), "\x7f\xff\xff\xff\xff\xff\xff\xff", "out of range"},
		{"uuid short", decodes(serde.UUID), id[1:], "serde: UUID text of 35 bytes, want 36"},
		{"uuid bytes", decodes(serde.UUID), id[:16], "serde: UUID text of 16 bytes, want 36"},
		{"uuid upper", decodes(serde.UUID), strings.ToUpper(id), `byte 0 is 'F'`},
		{"uuid dash", decodes(serde.UUID), strings.Replace(id, "-", "0", 1), `byte 8 is '0'`},
		{"time window short", decodes(serde.TimeWindowed(serde.String, time.Minute)), "1234567", "time-windowed key of 7 bytes"},
		{"time window key", decodes(serde.TimeWindowed(serde.Int64, time.Minute)), "123456789", "int64 of 1 bytes, want 8"},
		{"window short", decodes(serde.Windowed(serde.String)), "123456789012345", "windowed key of 15 bytes"},
		{"window key", decodes(serde.Windowed(serde.Int64)), strings.Repeat("\x00", 17), "int64 of 1 bytes, want 8"},
		{"window backwards", decodes(serde.Windowed(serde.String)), strings.Repeat("\x00", 15) + "\x01", "from 1 to 0 ms"},
		{"window last", decodes(serde.Windowed(serde.String)), "\x7f" + strings.Repeat("\xff", 7) + strings.Repeat("\x00", 8), "no window"},
	} {
		t.Run(c.name, func(t *testing.T) { require.ErrorContains(t, c.decode([]byte(c.src)), c.want) })
	}
}

func TestWindowedRefusesWhatWouldNotComeBack(t *testing.T) {
	minutes := serde.TimeWindowed(serde.String, time.Minute)
	dst := []byte("kept")

	out, err := minutes.Append(dst, windowKey("k", 0, 59_999))
	require.ErrorContains(t, err, "use serde.Windowed")
	require.Equal(t, dst, out)

	for _, end := range []int64{5, 4, math.MinInt64} {
		out, err = serde.Windowed(serde.String).Append(dst, windowKey("k", 5, end))
		require.ErrorContains(t, err, "empty window")
		require.Equal(t, dst, out)
	}

	for _, size := range []time.Duration{0, -time.Second, time.Microsecond, 1500 * time.Microsecond} {
		bad := serde.TimeWindowed(serde.String, size)
		_, err = bad.Append(nil, windowKey("k", 0, size.Milliseconds()))
		require.ErrorContains(t, err, "whole milliseconds", size)
		_, err = bad.Decode(make([]byte, 9))
		require.ErrorContains(t, err, "whole milliseconds", size)
	}

	_, err = serde.Windowed(serde.JSON[func()]()).Append(dst, window.Key[func()]{Span: window.Millis(0, 1)})
	require.ErrorContains(t, err, "key of a window")
}

// Java has no windows before 1970, so the golden file has none; here they must work.
func TestWindowedBefore1970(t *testing.T) {
	both(t, "time", serde.TimeWindowed(serde.String, time.Millisecond), windowKey("k", -1, 0), []byte("k\xff\xff\xff\xff\xff\xff\xff\xff"))
	both(t, "session", serde.Windowed(serde.String), windowKey("k", -3, -1),
		[]byte("k\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff\xfd"))
	whole := windowKey("k", math.MinInt64, math.MaxInt64)
	data, err := serde.Windowed(serde.String).Append(nil, whole)
	require.NoError(t, err)
	back, err := serde.Windowed(serde.String).Decode(data)
	require.NoError(t, err)
	require.Equal(t, whole, back)
}

func TestTimeIsCutToMillisecondsInUTC(t *testing.T) {
	zone := time.FixedZone("east", 2*3600)
	for _, c := range []struct{ in, want time.Time }{
		{time.Date(2024, 5, 1, 12, 0, 0, 1_999_999, zone), time.Date(2024, 5, 1, 10, 0, 0, 1_000_000, time.UTC)},
		{time.Unix(-1, 999_999_999), time.Unix(-1, 999_000_000).UTC()},
		{time.Time{}, time.Time{}},
	} {
		data, err := serde.Time.Append(nil, c.in)
		require.NoError(t, err)
		back, err := serde.Time.Decode(data)
		require.NoError(t, err)
		require.Equal(t, c.want, back)
	}
	for _, far := range []int64{math.MaxInt64 / 1000, math.MinInt64 / 1000, math.MaxInt64 / 2} {
		out, err := serde.Time.Append([]byte("kept"), time.Unix(far, 0))
		require.ErrorContains(t, err, "does not fit")
		require.Equal(t, "kept", string(out))
	}
}

func TestDecodeKeepsNothingOfItsInput(t *testing.T) {
	src := []byte("abcd")
	b, err := serde.Bytes.Decode(src)
	require.NoError(t, err)
	s, err := serde.String.Decode(src)
	require.NoError(t, err)
	w, err := serde.TimeWindowed(serde.Bytes, time.Second).Decode(append(src, make([]byte, 8)...))
	require.NoError(t, err)
	copy(src, "XXXX")
	require.Equal(t, "abcd", string(b))
	require.Equal(t, "abcd", s)
	require.Equal(t, "abcd", string(w.Key))
	empty, err := serde.Bytes.Decode(nil)
	require.NoError(t, err)
	require.NotNil(t, empty, "null is not a serde's business, so empty is not nil")
}

// ownSerde is a serde as a user would write it.
type ownSerde struct{}

func (ownSerde) Append(dst []byte, v int) ([]byte, error) { return append(dst, byte(v)), nil }
func (ownSerde) Decode(src []byte) (int, error)           { return len(src), nil }

type describedSerde struct{ ownSerde }

func (describedSerde) Describe() string { return "described-v2" }

func TestCanonicalAndDescribe(t *testing.T) {
	type userID string
	type point struct{ X, Y int }
	for _, c := range []struct {
		serde     any
		canonical bool
		describe  string
	}{
		{serde.String, true, "string"},
		{serde.Bytes, true, "bytes"},
		{serde.Bool, true, "bool"},
		{serde.Int32, true, "int32"},
		{serde.Int64, true, "int64"},
		{serde.Float64, false, "float64"},
		{serde.UUID, true, "uuid"},
		{serde.Time, true, "time-ms"},
		{serde.JSON[point](), false, "json"},
		{serde.Protobuf[*wrapperspb.StringValue](), false, "protobuf:google.protobuf.StringValue"},
		{serde.MsgPack[point](), false, "msgpack-map"},
		{serde.MsgPack[point](serde.AsArray()), false, "msgpack-array:2(int,int)"},
		{serde.MsgPack[ownCodec](), false, "msgpack-own"},
		{serde.TimeWindowed(serde.String, time.Minute), true, "time-windowed(string,60000)"},
		{serde.TimeWindowed(serde.JSON[point](), time.Minute), false, "time-windowed(json,60000)"},
		{serde.Windowed(serde.Int64), true, "windowed(int64)"},
		{serde.Windowed(serde.MsgPack[point]()), false, "windowed(msgpack-map)"},
		{defaultOf[userID](t), true, "string"},
		{defaultOf[time.Duration](t), true, "int64"},
		{defaultOf[uint64](t), true, "uint64"},
		{defaultOf[float64](t), false, "float64"},
		{ownSerde{}, false, "serde_test.ownSerde"},
		{describedSerde{}, false, "described-v2"},
		{nil, false, "<nil>"},
	} {
		require.Equal(t, c.describe, serde.Describe(c.serde))
		require.Equal(t, c.canonical, serde.Canonical(c.serde), c.describe)
	}
}

func defaultOf[T any](t *testing.T) serde.Serde[T] {
	t.Helper()
	s, err := serde.Default[T]()
	require.NoError(t, err)
	return s
}

// What Canonical promises: bytes that Decode accepts are the bytes that Append writes.
func TestCanonicalBytesComeBack(t *testing.T) {
	id := uuid.MustParse("f81d4fae-7dec-11d0-a765-00a0c91e6bf6").String()
	for _, src := range []string{"", "\x00", "\x01", "\x02", "\xff\xfe", "four", "eight by", "\x80\x00\x00\x00\x00\x00\x00\x00", id,
		strings.ToUpper(id), "k12345678", "k\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x01"} {
		comesBack(t, serde.String, src)
		comesBack(t, serde.Bytes, src)
		comesBack(t, serde.Bool, src)
		comesBack(t, serde.Int32, src)
		comesBack(t, serde.Int64, src)
		comesBack(t, serde.UUID, src)
		comesBack(t, serde.Time, src)
		comesBack(t, serde.TimeWindowed(serde.String, time.Hour), src)
		comesBack(t, serde.Windowed(serde.String), src)
	}
}

func comesBack[T any](t *testing.T, s serde.Serde[T], src string) {
	t.Helper()
	v, err := s.Decode([]byte(src))
	if err != nil {
		return
	}
	out, err := s.Append(nil, v)
	require.NoError(t, err)
	require.Equal(t, src, string(out), fmt.Sprintf("%T", s))
	require.True(t, serde.Canonical(s))
}
