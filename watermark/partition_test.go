package watermark_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirstream/weir/watermark"
)

// drawTime draws times around zero, anywhere, and at both ends of what an int64 holds.
func drawTime(t *rapid.T, name string) int64 {
	return rapid.OneOf(
		rapid.Int64Range(-300, 300),
		rapid.Int64(),
		rapid.Int64Range(math.MinInt64, math.MinInt64+300),
		rapid.Int64Range(math.MaxInt64-300, math.MaxInt64),
	).Draw(t, name)
}

// The watermark is the greatest of the committed one and of every time seen less the bound, in arithmetic without limits,
// but below every time's end.
func TestPartitionMatchesDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Int64Range(0, 100).Draw(t, "bound")
		anyTime := rapid.Custom(func(t *rapid.T) int64 { return drawTime(t, "ts") })
		committed := rapid.OneOf(rapid.Just(watermark.None), anyTime).Draw(t, "committed")
		p := watermark.NewPartition(watermark.Bounded(time.Duration(bound)*ms), committed)
		want := committed
		for range rapid.IntRange(0, 10).Draw(t, "records") {
			require.Equal(t, want, p.Watermark())
			ts := drawTime(t, "ts")
			p.Observe(ts)
			w := new(big.Int).Sub(big.NewInt(min(ts, math.MaxInt64-1)), big.NewInt(bound))
			if w.IsInt64() {
				want = max(want, w.Int64())
			}
		}
		require.Equal(t, want, p.Watermark())
	})
}

func TestPartitionRestore(t *testing.T) {
	p := watermark.NewPartition(watermark.Bounded(5*ms), watermark.None)
	p.Observe(100)
	p.Restore(40)
	require.Equal(t, int64(40), p.Watermark(), "an abort takes the watermark back")
	p.Observe(44)
	require.Equal(t, int64(40), p.Watermark())
	p.Observe(46)
	require.Equal(t, int64(41), p.Watermark())
	p.Restore(watermark.None)
	require.Equal(t, watermark.None, p.Watermark())
	p.Observe(math.MinInt64)
	require.Equal(t, watermark.None, p.Watermark())
}

func TestTooFarAhead(t *testing.T) {
	p := watermark.NewPartition(watermark.Bounded(0).MaxAhead(10*ms), watermark.None)
	for ts, want := range map[int64]bool{-100: false, 1000: false, 1010: false, 1011: true, math.MaxInt64: true} {
		require.Equal(t, want, p.TooFarAhead(ts, 1000), "%d", ts)
	}
	require.True(t, watermark.NewPartition(watermark.Bounded(0).MaxAhead(1*ms), watermark.None).TooFarAhead(1002, 1000))
	require.False(t, p.TooFarAhead(math.MaxInt64, math.MaxInt64-5), "the limit does not wrap round")
	require.False(t, watermark.NewPartition(watermark.Strategy{}, 0).TooFarAhead(math.MaxInt64, 0), "no limit unless said")
}

func TestNoRecordEndsTime(t *testing.T) {
	p := watermark.NewPartition(watermark.Strategy{}, watermark.None)
	p.Observe(math.MaxInt64)
	require.Less(t, p.Watermark(), watermark.Infinite)
	p.Restore(watermark.Infinite)
	p.Observe(math.MaxInt64)
	require.Equal(t, watermark.Infinite, p.Watermark(), "nor brings it back")
}

func BenchmarkObserve(b *testing.B) {
	b.ReportAllocs()
	p := watermark.NewPartition(watermark.Bounded(10*time.Second), watermark.None)
	var ts int64
	for b.Loop() {
		ts += 3
		p.Observe(ts)
	}
}
