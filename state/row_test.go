package state

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/serde"
)

func TestRowsComeBack(t *testing.T) {
	times := []int64{0, -1, 1, math.MinInt64, math.MaxInt64, 1700000000000}
	headers := [][]kgo.RecordHeader{nil, {{Key: "k", Value: []byte("v")}}, {{}, {Key: "nil"}, {Key: "empty", Value: []byte{}}}}
	for _, ms := range times {
		for _, last := range times {
			for _, shown := range append(times, Unshown) {
				for _, hs := range headers {
					in := &Row[string]{Value: "value", Headers: hs, Time: ms, Start: ms, Last: last, Shown: shown}
					b, err := appendRow([]byte("before"), in, true, serde.String)
					require.NoError(t, err)
					out := &Row[string]{Start: ms}
					require.NoError(t, decodeRow(b[len("before"):], out, serde.String))
					if in.isMarker() {
						in.Value = ""
					}
					require.Equal(t, in, out)

					got, err := rowLast(sessionKey("k", ms), b[len("before"):])
					require.NoError(t, err)
					require.Equal(t, last, got)
				}
			}
		}
	}
}

func TestRowsWithoutSessionsAreSmall(t *testing.T) {
	b, err := appendRow(nil, &Row[string]{Value: "v", Time: 5}, false, serde.String)
	require.NoError(t, err)
	require.Len(t, b, 4, "version, flags, time, value")
	b, err = appendRow(nil, &Row[string]{Value: "v", Time: 5, Start: 5, Last: 9, Shown: Unshown}, true, serde.String)
	require.NoError(t, err)
	require.Len(t, b, 5)
}

func TestRowsCutShort(t *testing.T) {
	r := &Row[int64]{Value: 7, Time: 500, Start: 400, Last: 900, Shown: 800, Headers: []kgo.RecordHeader{{Key: "key", Value: []byte("value")}}}
	b, err := appendRow(nil, r, true, serde.Int64)
	require.NoError(t, err)
	for n := range b {
		require.Error(t, decodeRow(b[:n], &Row[int64]{}, serde.Int64), "%d of %d bytes", n, len(b))
	}
	for _, bad := range [][]byte{{rowVersion + 1, 0, 0}, {rowVersion, 0x80, 0}} {
		require.ErrorContains(t, decodeRow(bad, &Row[int64]{}, serde.Int64), "newer version of Weir")
	}
}

func FuzzDecodeRow(f *testing.F) {
	for _, session := range []bool{false, true} {
		r := &Row[string]{Value: "v", Time: -5, Start: 3, Last: 8, Shown: 5, Headers: []kgo.RecordHeader{{Key: "k"}, {Value: []byte("v")}}}
		b, err := appendRow(nil, r, session, serde.String)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte{rowVersion, hasHeaders, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &Row[string]{Start: 3}
		if decodeRow(b, r, serde.String) != nil {
			_, _ = rowLast(sessionKey("k", 3), b)
			return
		}
		session := b[1]&hasLast != 0
		again, err := appendRow(nil, r, session, serde.String)
		require.NoError(t, err)
		back := &Row[string]{Start: 3}
		require.NoError(t, decodeRow(again, back, serde.String))
		if !session {
			r.Shown = back.Shown // what others leave out
		}
		require.Equal(t, fmt.Sprint(r), fmt.Sprint(back))
	})
}

func TestTimesSortAsBytes(t *testing.T) {
	times := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 40, -256, -255, -1, 0, 1, 255, 256, 1 << 40, math.MaxInt64 - 1, math.MaxInt64}
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		times = append(times, int64(r.Uint64()))
	}
	keys := make([]string, 0, len(times))
	for _, ms := range times {
		require.Equal(t, ms, fromSortable(sortable(ms)+"anything"))
		keys = append(keys, sortable(ms))
	}
	slices.Sort(times)
	slices.Sort(keys)
	for i, ms := range times {
		require.Equal(t, ms, fromSortable(keys[i]))
	}
	require.Equal(t, int64(math.MinInt64), fromSortable(""), "what is too short is no panic")
}

func TestSessionKeysComeApart(t *testing.T) {
	for _, key := range []string{"", "a", string(make([]byte, 300))} {
		got, err := splitSession(sessionKey(key, -7))
		require.NoError(t, err)
		require.Equal(t, key, got)
	}
	for _, bad := range []string{"", "\x01", "\x0512345678", "\x00123456789", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff12345678"} {
		_, err := splitSession(bad)
		require.Error(t, err, "%q", bad)
	}
}
