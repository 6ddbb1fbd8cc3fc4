package operator

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/window"
)

// fire closes what is due.
func (a *aggregation) fire(watermark int64) []got[int64] {
	a.finals, a.updates = nil, nil
	more, err := a.op.Fire(&a.ctx, watermark, 100)
	require.NoError(a.t, err)
	require.False(a.t, more)
	return a.finals
}

// deadlines returns those that the task was told of, and forgets them.
func (a *aggregation) deadlines() []int64 {
	list := a.lowered
	a.lowered = nil
	return list
}

// The task hears of a deadline only if it is earlier than what it knows.
func TestDeadlines(t *testing.T) {
	a := newAggregation(t, sums("window"), tumbling10)
	a.at(23, "k", 1)
	a.at(24, "l", 1)
	a.at(31, "k", 1)
	require.Equal(t, []int64{35}, a.deadlines())
	a.at(9, "k", 1)
	require.Equal(t, []int64{15}, a.deadlines())
	require.EqualValues(t, 15, a.op.Deadline())
	require.Len(t, a.fire(15), 1)
	a.at(25, "k", 1)
	a.at(35, "k", 1)
	require.Empty(t, a.deadlines(), "it was 35, and is again")
	a.at(16, "k", 1)
	require.Equal(t, []int64{25}, a.deadlines())

	a = newAggregation(t, sums("session"), gap5)
	a.at(20, "k", 1)
	a.at(20, "l", 1)
	a.at(25, "k", 1)
	require.Equal(t, []int64{29}, a.deadlines())
	a.at(9, "k", 1)
	require.Equal(t, []int64{18}, a.deadlines())
	require.Len(t, a.fire(18), 1)
	a.at(30, "l", 1)
	require.Empty(t, a.deadlines())
	a.at(18, "m", 1) // what closed at 9 is remembered until 28
	require.Equal(t, []int64{27}, a.deadlines())
}

// A window is told downstream once more before its end, if it has changed since.
func TestFinals(t *testing.T) {
	w := window.Millis(0, 10)
	a := newAggregation(t, sums("window"), tumbling10)
	a.ctx.Headers = header("a", "1")
	a.at(3, "k", 1)
	a.commit(0)
	a.ctx.Headers = header("a", "2")
	a.at(8, "k", 1)
	a.at(2, "l", 1)
	require.Empty(t, a.fire(14))
	require.Equal(t, []got[int64]{
		{key: "k", value: 2, time: 9, carried: 9, window: w, headers: "a:2"},
		{key: "l", value: 1, time: 9, carried: 9, window: w, headers: "a:2"},
	}, a.fire(15))
	require.Equal(t, []got[int64]{
		{key: "k", value: 2, time: 8, carried: 8, window: w, headers: "a:2"},
		{key: "l", value: 1, time: 2, carried: 2, window: w, headers: "a:2"},
	}, a.updates)
	require.Empty(t, a.rows())
	require.Empty(t, a.fire(100))

	a = newAggregation(t, sums("window"), tumbling10)
	a.at(3, "k", 1)
	a.commit(0)
	require.Len(t, a.fire(15), 1)
	require.Empty(t, a.updates, "it has been told")
}

func TestFinalsOfSessions(t *testing.T) {
	a := newAggregation(t, sums("session"), gap5)
	a.at(3, "k", 1)
	a.commit(0)
	a.at(8, "k", 1)
	require.Empty(t, a.fire(16))
	require.Equal(t, []got[int64]{{key: "k", value: 2, time: 8, carried: 8, window: window.Millis(3, 9)}}, a.fire(17))
	require.Equal(t, []got[int64]{
		{key: "k", time: 3, carried: 3, window: window.Millis(3, 4), deleted: true},
		{key: "k", value: 2, time: 8, carried: 8, window: window.Millis(3, 9)},
	}, a.updates)
	require.Empty(t, a.rows())

	a.at(53, "k", 1)
	a.commit(0)
	require.Len(t, a.fire(100), 1)
	require.Empty(t, a.updates, "it has been told")
}

// What a session was last told as goes, in whatever way it has changed.
func TestUpdatesOfSessions(t *testing.T) {
	session := func(first, last, value, ms, carried int64) got[int64] {
		return got[int64]{key: "k", value: value, time: ms, carried: carried, window: window.Millis(first, last+1), deleted: value == 0}
	}
	a := newAggregation(t, sums("session"), gap5)
	a.at(20, "k", 1)
	require.Equal(t, []got[int64]{session(20, 20, 1, 20, 0)}, a.commit(0))
	a.at(20, "k", 1)
	require.Equal(t, []got[int64]{session(20, 20, 2, 20, 20)}, a.commit(50), "in the same window")
	a.at(25, "k", 1)
	require.Equal(t, []got[int64]{session(20, 20, 0, 20, 20), session(20, 25, 3, 25, 22)}, a.commit(22), "grown at its end")
	a.at(15, "k", 1)
	require.ElementsMatch(t, []got[int64]{session(20, 25, 0, 25, 0), session(15, 25, 4, 25, 0)}, a.commit(0), "grown at its start")
	a.at(35, "k", 1)
	a.at(30, "k", 1)
	require.Equal(t, []got[int64]{session(15, 25, 0, 25, 0), session(15, 35, 6, 35, 0)}, a.commit(0),
		"what nobody was told of, goes without a word")
	a.at(50, "k", 1)
	a.commit(0)
	a.at(45, "k", 1)
	a.at(40, "k", 1)
	require.ElementsMatch(t, []got[int64]{session(15, 35, 0, 35, 0), session(50, 50, 0, 50, 0), session(15, 50, 9, 50, 0)}, a.commit(0))
}

// The time of a merged session is that of its latest record, also before 1970.
func TestTimeOfMergedSessions(t *testing.T) {
	for _, order := range [][]int64{{-20, -10, -15}, {-10, -20, -15}, {-20, -15, -10}, {-15, -10, -20}, {-10, -15, -20}} {
		a := newAggregation(t, sums("session"), gap5)
		for _, ms := range order {
			a.at(ms, "k", 1)
		}
		updates := a.commit(-100)
		require.Equal(t, []got[int64]{{key: "k", value: 3, time: -10, carried: -100, window: window.Millis(-20, -9)}}, updates, "%v", order)
	}
}

// A record is late for the watermark that it carries, or if what it belongs to
// is closed here, even if that was not due for any record.
func TestLate(t *testing.T) {
	a := newAggregation(t, sums("window"), tumbling10)
	a.ctx.Carried = 14
	a.at(9, "k", 1)
	require.Empty(t, a.late)
	a.ctx.Carried = 15
	a.at(9, "k", 2)
	require.Equal(t, []got[int64]{{key: "k", value: 2, time: 9, carried: 15}}, a.late)
	require.EqualValues(t, 1, a.drops(flow.Late))
	a.ctx.Carried = 0
	a.ctx.Fired = 15 // but this window was left open
	a.at(9, "k", 4)
	require.EqualValues(t, 1, a.drops(flow.Late))
	a.ctx.Fired = 0
	require.Len(t, a.fire(15), 1)
	a.at(9, "k", 8)
	require.EqualValues(t, 1, a.drops(flow.Late))
	require.Len(t, a.late, 3)

	spec := sums("window")
	spec.Hold = 4 // 4 ms behind the task
	a = newAggregation(t, spec, tumbling10)
	a.ctx.Fired = 18
	a.at(9, "k", 1)
	require.Zero(t, a.drops(flow.Late))
	a.ctx.Fired = 19
	a.at(9, "k", 1)
	require.EqualValues(t, 1, a.drops(flow.Late))
}

// A record that some of its windows take is counted for the others, and not
// shown as late.
func TestPartlyLate(t *testing.T) {
	a := newAggregation(t, sums("window"), func(t *flow.Task, s Spec[string, int64, int64]) (flow.Push[string, int64], error) {
		return Windowed(t, s, window.Hopping(10*time.Millisecond, 4*time.Millisecond))
	})
	a.ctx.Carried = 14
	a.at(13, "k", 1) // in [4,14), [8,18) and [12,22)
	require.EqualValues(t, 1, a.drops(flow.Late))
	require.Empty(t, a.late)
	require.Len(t, a.rows(), 2)
	a.at(13, "k", 13)
	require.EqualValues(t, 1, a.task.Drops[flow.DropKey{Node: node, Reason: flow.Failed}], "after a failure, no window is tried")
}

func TestLateForSessions(t *testing.T) {
	a := newAggregation(t, sums("session"), gap5)
	a.ctx.Carried = 18
	a.at(10, "k", 1) // closes at 19
	require.Zero(t, a.drops(flow.Late))
	a.ctx.Carried = 19
	a.at(10, "l", 1)
	require.EqualValues(t, 1, a.drops(flow.Late))
	a.at(15, "k", 1)
	require.EqualValues(t, 1, a.drops(flow.Late), "it would prolong a session that is closed for it")
	require.Len(t, a.late, 2)

	a.ctx.Carried, a.ctx.Fired = 0, 19
	a.at(10, "l", 1)
	require.EqualValues(t, 1, a.drops(flow.Late))
	a.ctx.Fired = 0
	a.at(10, "l", 1)
	a.at(15, "l", 1)
	require.Zero(t, a.drops(flow.Late))
	require.Len(t, a.fire(19), 1)
	a.at(15, "k", 1)
	require.EqualValues(t, 1, a.drops(flow.Late), "it touches the session that has been closed")
	a.at(10, "m", 1)
	require.EqualValues(t, 1, a.drops(flow.Late), "its own would have been closed")
	a.at(11, "m", 1)
	require.Zero(t, a.drops(flow.Late))
}

// How far closings have come, and what a restore must read, is the store's.
func TestProgress(t *testing.T) {
	for name, deadline := range map[string]int64{"window": 15, "session": 12} {
		a := newAggregation(t, sums(name), kinds[name].build)
		a.at(3, "k", 1)
		a.commit(0)
		require.Equal(t, deadline, a.op.Deadline(), name)
		from, cut := a.op.NeededFrom(deadline - 1)
		require.True(t, cut)
		require.Zero(t, from)
		a.fire(deadline)
		require.Equal(t, deadline, a.op.Progress().Closed)
		a.commit(deadline)
		a.fire(100) // when not even what has closed is remembered
		a.commit(100)
		from, cut = a.op.NeededFrom(100)
		require.True(t, cut)
		require.EqualValues(t, a.commits, from)
	}
}

// Closings stop after about as many results as they may have.
func TestClosingInSteps(t *testing.T) {
	for name, deadline := range map[string]int64{"window": 15, "session": 12} {
		a := newAggregation(t, sums(name), kinds[name].build)
		require.EqualValues(t, math.MinInt64, a.op.Resume())
		for _, k := range []string{"a", "b", "c"} {
			a.at(3, k, 1)
		}
		steps := 1
		for more := true; more; steps++ {
			var err error
			more, err = a.op.Fire(&a.ctx, 100, 1)
			require.NoError(t, err)
			require.LessOrEqual(t, len(a.finals), steps)
			if more && len(a.finals) < 3 {
				require.Equal(t, deadline, a.op.Resume(), "it goes on where it was interrupted")
			}
		}
		require.Len(t, a.finals, 3)
		require.Greater(t, steps, 3)
		require.EqualValues(t, math.MinInt64, a.op.Resume())
	}
}
