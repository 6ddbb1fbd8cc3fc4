package window_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirstream/weir/window"
)

const ms = time.Millisecond

// spans lists the windows of ts in the way the engine does.
func spans(f window.Fixed, ts int64) (all []window.Span) {
	for start := f.First(ts); start <= ts; start = f.Next(start) {
		all = append(all, window.Millis(start, f.EndOf(start)))
	}
	return all
}

// C01: a negative timestamp belongs to the window around it, not to the next one.
func TestC01NegativeTimes(t *testing.T) {
	ten := window.Tumbling(10 * ms)
	for _, c := range []struct{ ts, start int64 }{{-11, -20}, {-10, -10}, {-1, -10}, {0, 0}, {9, 0}, {10, 10}} {
		require.Equal(t, []window.Span{window.Millis(c.start, c.start+10)}, spans(ten, c.ts), "ts %d", c.ts)
	}
	require.Equal(t, []window.Span{window.Millis(-10, 0), window.Millis(-5, 5)}, spans(window.Hopping(10*ms, 5*ms), -1))
}

func TestOffset(t *testing.T) {
	for _, c := range []struct {
		offset    time.Duration
		ts, start int64
	}{
		{3 * ms, 2, -7}, {3 * ms, 3, 3}, {3 * ms, 12, 3}, {3 * ms, 13, 13}, {3 * ms, -8, -17},
		{-7 * ms, 2, -7}, {23 * ms, 2, -7}, {-7 * ms, 3, 3}, {10 * ms, 9, 0}, {-10 * ms, 9, 0},
	} {
		require.Equal(t, c.start, window.Tumbling(10*ms).Offset(c.offset).First(c.ts), "%+v", c)
	}
	require.Equal(t, window.Tumbling(10*ms).Offset(3*ms), window.Tumbling(10*ms).Offset(-7*ms), "equal windows are equal values")
}

// model lists the windows of ts by the definition alone: every start that is a multiple of advance plus offset and holds
// ts, in arithmetic that cannot overflow.
func model(size, advance, offset, ts int64) (all []window.Span) {
	start := new(big.Int).Sub(big.NewInt(ts), big.NewInt(size))
	for range size {
		start.Add(start, big.NewInt(1))
		aligned := new(big.Int).Sub(start, big.NewInt(offset))
		if aligned.Mod(aligned, big.NewInt(advance)).Sign() != 0 || !start.IsInt64() {
			continue
		}
		end := new(big.Int).Add(start, big.NewInt(size))
		if !end.IsInt64() {
			end.SetInt64(math.MaxInt64)
		}
		all = append(all, window.Millis(start.Int64(), end.Int64()))
	}
	return all
}

// drawTime draws times around zero, anywhere, and at both ends of what an int64 holds.
func drawTime(t *rapid.T) int64 {
	return rapid.OneOf(
		rapid.Int64Range(-300, 300),
		rapid.Int64Range(math.MinInt64, math.MaxInt64-1),
		rapid.Int64Range(math.MinInt64, math.MinInt64+300),
		rapid.Int64Range(math.MaxInt64-300, math.MaxInt64-1),
	).Draw(t, "ts")
}

func TestAssignmentMatchesDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 60).Draw(t, "size")
		advance := rapid.OneOf(rapid.Int64Range(1, size), rapid.Just(size)).Draw(t, "advance")
		offset := rapid.Int64Range(-200, 200).Draw(t, "offset")
		ts := drawTime(t)
		f := window.Hopping(time.Duration(size)*ms, time.Duration(advance)*ms).Offset(time.Duration(offset) * ms)
		require.NoError(t, f.Validate())

		want := model(size, advance, offset, ts)
		require.Equal(t, want, spans(f, ts))
		if len(want) > 0 {
			require.Equal(t, want[len(want)-1].StartMs(), f.Last(ts))
		} else {
			require.Greater(t, f.Last(ts), ts)
		}
	})
}

// The windows at both ends of time, where sums wrap round.
func TestAssignmentAtTheEndsOfTime(t *testing.T) {
	for _, shape := range [][3]int64{{10, 10, 0}, {10, 10, 3}, {25, 10, 7}, {30, 10, 1}, {7, 1, 0}} {
		size, advance, offset := shape[0], shape[1], shape[2]
		f := window.Hopping(time.Duration(size)*ms, time.Duration(advance)*ms).Offset(time.Duration(offset) * ms)
		for i := range int64(70) {
			for _, ts := range []int64{math.MinInt64 + i, math.MaxInt64 - 1 - i} {
				want := model(size, advance, offset, ts)
				require.Equal(t, want, spans(f, ts), "%v at %d", f, ts)
				if len(want) == 0 { // the next window is the first that there is
					require.Empty(t, model(size, advance, offset, f.Last(ts)-1))
					require.NotEmpty(t, model(size, advance, offset, f.Last(ts)))
				}
			}
		}
	}
}

func TestHoppingWindowsPerRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		advance := rapid.Int64Range(1, 50).Draw(t, "advance")
		times := rapid.Int64Range(1, 20).Draw(t, "times")
		ts := rapid.Int64Range(-1e15, 1e15).Draw(t, "ts")
		f := window.Hopping(time.Duration(times*advance)*ms, time.Duration(advance)*ms)
		require.Len(t, spans(f, ts), int(times), "size is %d advances", times)

		// One millisecond more is a window more for one time in advance, and for no other.
		longer := window.Hopping(time.Duration(times*advance+1)*ms, time.Duration(advance)*ms)
		more := 0
		for at := ts; at < ts+advance; at++ {
			more += len(spans(longer, at)) - int(times)
		}
		if advance > 1 {
			require.Equal(t, 1, more)
		}
	})
}

func TestClosing(t *testing.T) {
	f := window.Hopping(10*ms, 5*ms).Offset(3 * ms).Grace(7 * ms)
	require.Equal(t, int64(7), f.GraceMs())
	require.Equal(t, int64(13), f.EndOf(3))
	require.Equal(t, int64(20), f.ClosesAt(3))
	require.False(t, f.Late(3, 19))
	require.True(t, f.Late(3, 20))
	require.False(t, f.Late(3, math.MinInt64), "without a watermark nothing is late")

	// No sum wraps round at the end of time.
	top := f.Last(math.MaxInt64 - 1)
	require.Equal(t, int64(math.MaxInt64), f.EndOf(top))
	require.Equal(t, int64(math.MaxInt64), f.ClosesAt(top))
	require.Equal(t, int64(math.MaxInt64), f.Next(f.Next(top)))
	require.False(t, f.Late(top, math.MaxInt64-1))
	require.True(t, f.Late(top, math.MaxInt64))
	nearTop := f.Last(math.MaxInt64 - 11)
	require.Less(t, f.EndOf(nearTop), int64(math.MaxInt64))
	require.Equal(t, int64(math.MaxInt64), f.ClosesAt(nearTop))
}

var sink int64

func BenchmarkFirst(b *testing.B) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(b, err)
	for _, c := range []struct {
		name string
		f    window.Fixed
	}{
		{"tumbling", window.Tumbling(time.Minute).Offset(3 * time.Second)},
		{"hopping", window.Hopping(time.Minute, 10*time.Second)},
		{"calendar", window.Calendar(window.Day, berlin)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			ts := int64(1_774_000_000_000)
			for b.Loop() {
				ts += 17
				sink = c.f.First(ts)
			}
		})
	}
}
