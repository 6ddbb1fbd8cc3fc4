package watermark_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirstream/weir/watermark"
)

func TestUpstreamsRefuseOthers(t *testing.T) {
	u := watermark.NewUpstreams(2, 10)
	require.NoError(t, u.Hear(watermark.Progress{Task: 0, Tasks: 2, Watermark: 30}))
	for _, c := range []struct {
		p    watermark.Progress
		want string
	}{
		{watermark.Progress{Task: 1, Tasks: 3, Watermark: 50}, "upstream task 1 says that it is one of 3 tasks, the topology has 2"},
		{watermark.Progress{Task: 2, Tasks: 2, Watermark: 50}, "upstream task 2 is not one of the topology's 2"},
		{watermark.Progress{Task: -1, Tasks: 2, Watermark: 50}, "upstream task -1 is not one"},
		{watermark.Progress{}, "upstream task 0 says that it is one of 0 tasks"},
	} {
		require.ErrorContains(t, u.Hear(c.p), c.want)
		require.Equal(t, int64(10), u.Watermark(), "an error changes nothing")
	}
	task, heard := u.Holder()
	require.Equal(t, 1, task)
	require.False(t, heard)
}

// The model: every upstream stands at the greatest of the floor and of all it has said; the partition at the least of
// those that are not idle, and never goes back.
func TestUpstreamsMatchModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "tasks")
		mark := rapid.OneOf(rapid.Int64Range(-20, 20), rapid.SampledFrom([]int64{watermark.None, watermark.Infinite}))
		floor := mark.Draw(t, "floor")
		u, model := watermark.NewUpstreams(n, floor), newNaive(n, floor)
		for i := range n {
			model.inputs[i] = floor
		}
		for range rapid.IntRange(0, 40).Draw(t, "records") {
			p := watermark.Progress{
				Task: int32(rapid.IntRange(0, n-1).Draw(t, "task")), Tasks: int32(n),
				Watermark: mark.Draw(t, "watermark"), Idle: rapid.Bool().Draw(t, "idle"),
			}
			require.NoError(t, u.Hear(p))
			model.inputs[p.Task] = max(model.inputs[p.Task], p.Watermark)
			model.move() // what an upstream says about its time counts up to the moment at which it falls idle
			model.idle[p.Task] = p.Idle
			model.move()
			require.Equal(t, model.at, u.Watermark())
			require.Equal(t, model.allIdle(), u.Idle())
		}
	})
}
