package window_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirstream/weir/window"
)

func TestSessionTouches(t *testing.T) {
	s := window.Gap(5 * ms)
	for ts, want := range map[int64]bool{-6: false, -5: true, 0: true, 3: true, 7: true, 12: true, 13: false} {
		require.Equal(t, want, s.Touches(0, 7, ts), "%d", ts)
	}
}

func TestSessionTouchesAtTheEndsOfTime(t *testing.T) {
	s := window.Gap(5 * ms)
	require.True(t, s.Touches(math.MaxInt64-9, math.MaxInt64-2, math.MaxInt64-1))
	require.False(t, s.Touches(math.MaxInt64-9, math.MaxInt64-2, math.MaxInt64-15))
	require.True(t, s.Touches(math.MinInt64+2, math.MinInt64+9, math.MinInt64))
	require.False(t, s.Touches(math.MinInt64+2, math.MinInt64+9, math.MinInt64+15))
}

func TestSessionTouchesMatchesDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gap := rapid.Int64Range(1, 300).Draw(t, "gap")
		first := drawTime(t)
		last := first + rapid.Int64Range(0, 300).Draw(t, "length")
		if last < first {
			last = math.MaxInt64
		}
		ts := drawTime(t)
		near := func(edge int64) bool {
			d := new(big.Int).Sub(big.NewInt(ts), big.NewInt(edge))
			return d.CmpAbs(big.NewInt(gap)) <= 0
		}
		want := near(first) || near(last) || first <= ts && ts <= last
		require.Equal(t, want, window.Gap(time.Duration(gap)*ms).Touches(first, last, ts))
	})
}

// Merging records one by one, in any order, gives the groups that sorting and cutting at every gap gives.
func TestSessionMergingMatchesSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gap := rapid.Int64Range(1, 10).Draw(t, "gap")
		times := rapid.SliceOfN(rapid.Int64Range(-100, 100), 1, 40).Draw(t, "times")
		s := window.Gap(time.Duration(gap) * ms)

		var merged [][2]int64
		for _, ts := range times {
			first, last := ts, ts
			merged = slices.DeleteFunc(merged, func(m [2]int64) bool {
				if !s.Touches(m[0], m[1], ts) {
					return false
				}
				first, last = min(first, m[0]), max(last, m[1])
				return true
			})
			merged = append(merged, [2]int64{first, last})
		}
		slices.SortFunc(merged, func(a, b [2]int64) int { return int(a[0] - b[0]) })

		var cut [][2]int64
		for _, ts := range slices.Sorted(slices.Values(times)) {
			if n := len(cut); n > 0 && ts-cut[n-1][1] <= gap {
				cut[n-1][1] = ts
			} else {
				cut = append(cut, [2]int64{ts, ts})
			}
		}
		require.Equal(t, cut, merged)
	})
}

// The rule for merging and the rule for closing agree: without grace a session is closed exactly when no record at the
// watermark or after it could touch it.
func TestSessionClosesWhenNothingCanTouchIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := window.Gap(time.Duration(rapid.Int64Range(1, 20).Draw(t, "gap")) * ms)
		last := rapid.Int64Range(-50, 50).Draw(t, "last")
		watermark := rapid.Int64Range(-50, 100).Draw(t, "watermark")
		touchable := false
		for ts := watermark; ts < 200; ts++ {
			touchable = touchable || s.Touches(last-3, last, ts)
		}
		require.Equal(t, !touchable, watermark >= s.ClosesAt(last))
	})
}

func TestSessionClosing(t *testing.T) {
	s := window.Gap(10 * ms).Grace(5 * ms)
	require.Equal(t, int64(10), s.GapMs())
	require.Equal(t, int64(5), s.GraceMs())
	require.Equal(t, int64(116), s.ClosesAt(100))
	require.False(t, s.Late(100, 115))
	require.True(t, s.Late(100, 116))
	require.False(t, s.Late(100, math.MinInt64))

	for _, last := range []int64{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - 12} {
		require.Equal(t, int64(math.MaxInt64), s.ClosesAt(last))
		require.False(t, s.Late(last, math.MaxInt64-1))
		require.True(t, s.Late(last, math.MaxInt64), "at the end of time every session is closed")
	}
	require.Equal(t, int64(math.MinInt64+16), s.ClosesAt(math.MinInt64))
}

func TestSessionValidateAndString(t *testing.T) {
	require.Equal(t, "session gap 30m0s", window.Gap(30*time.Minute).String())
	require.Equal(t, "session gap 30m0s grace 1s", window.Gap(30*time.Minute).Grace(time.Second).String())
	for _, c := range []struct {
		s    window.Session
		want []string
	}{
		{window.Gap(time.Second), nil},
		{window.Gap(time.Second).Grace(time.Second), nil},
		{window.Session{}, []string{"gap 0s"}},
		{window.Gap(-ms), []string{"gap -1ms"}},
		{window.Gap(ms + 1), []string{"gap is not a whole"}},
		{window.Gap(ms).Grace(ms + 1), []string{"grace is not a whole"}},
		{window.Gap(ms + 1).Grace(-ms), []string{"grace -1ms is negative", "gap is not a whole"}},
	} {
		requireFaults(t, c.s.Validate(), c.want, c.s.String())
	}
}
