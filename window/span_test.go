package window_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/window"
)

func TestSpanIsHalfOpen(t *testing.T) {
	s := window.Millis(-10, 5)
	require.Equal(t, int64(-10), s.StartMs())
	require.Equal(t, int64(5), s.EndMs())
	for ms, inside := range map[int64]bool{-11: false, -10: true, 0: true, 4: true, 5: false} {
		require.Equal(t, inside, s.Contains(ms), "%d", ms)
	}
}

func TestSpanOfTimes(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	start := time.Date(2026, 3, 29, 0, 0, 0, 1_500_000, zone)
	s := window.NewSpan(start, start.Add(time.Minute))
	require.Equal(t, time.Date(2026, 3, 28, 23, 0, 0, 1_000_000, time.UTC), s.Start())
	require.Equal(t, time.Date(2026, 3, 28, 23, 1, 0, 1_000_000, time.UTC), s.End())
	require.Equal(t, window.Millis(s.StartMs(), s.EndMs()), s)
	require.Equal(t, "[2026-03-28T23:00:00.001Z, 2026-03-28T23:01:00.001Z)", s.String())

	before := time.Unix(0, -1) // cut downwards, also before the epoch
	require.Equal(t, int64(-1), window.NewSpan(before, before).StartMs())
}

func TestZeroSpan(t *testing.T) {
	require.True(t, window.Span{}.IsZero())
	require.False(t, window.Span{}.Contains(0))
	require.False(t, window.Millis(0, 1).IsZero())
	require.False(t, window.Millis(-1, 0).IsZero())
}

func TestKeysAreComparable(t *testing.T) {
	m := map[window.Key[string]]int{{Key: "a", Span: window.Millis(0, 10)}: 1}
	require.Equal(t, 1, m[window.Key[string]{Key: "a", Span: window.Millis(0, 10)}])
	require.Zero(t, m[window.Key[string]{Key: "a", Span: window.Millis(10, 20)}])
}
