package watermark_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/watermark"
)

const ms = time.Millisecond

func TestStrategy(t *testing.T) {
	require.Equal(t, watermark.Strategy{}, watermark.Bounded(0))
	require.Equal(t, "bounded 0s", watermark.Strategy{}.String())

	s := watermark.Bounded(10 * time.Second).Idle(time.Minute).AdvanceWhenIdle().MaxAhead(time.Hour)
	require.NoError(t, s.Validate())
	require.Equal(t, "bounded 10s idle 1m0s advance-when-idle max-ahead 1h0m0s", s.String())
	require.Equal(t, []int64{10_000, 60_000, 3_600_000}, []int64{s.BoundMs(), s.IdleMs(), s.MaxAheadMs()})
	require.True(t, s.Advances())

	plain := watermark.Bounded(ms)
	require.Equal(t, []int64{1, 0, 0}, []int64{plain.BoundMs(), plain.IdleMs(), plain.MaxAheadMs()})
	require.False(t, plain.Advances())
}

func TestStrategyValidate(t *testing.T) {
	for _, c := range []struct {
		s    watermark.Strategy
		want string // the whole error; empty for a good strategy
	}{
		{watermark.Strategy{}, ""},
		{watermark.Bounded(ms).Idle(0).MaxAhead(0), ""},
		{watermark.Bounded(-ms), "watermark: bound -1ms is negative"},
		{watermark.Bounded(ms + 1), "watermark: bound 1.000001ms is not a whole number of milliseconds"},
		{watermark.Bounded(0).Idle(-ms), "watermark: idle timeout -1ms is negative"},
		{watermark.Bounded(0).Idle(1), "watermark: idle timeout 1ns is not a whole number of milliseconds"},
		{watermark.Bounded(0).MaxAhead(-ms).AdvanceWhenIdle(), "watermark: MaxAhead -1ms is negative\n" +
			"watermark: AdvanceWhenIdle has no effect without Idle: no partition is ever idle"},
	} {
		if c.want == "" {
			require.NoError(t, c.s.Validate(), c.s.String())
		} else {
			require.EqualError(t, c.s.Validate(), c.want)
		}
	}
}
