package operator

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// A builder makes an operator for a task.
type builder func(*flow.Task, Spec[string, int64, int64]) (flow.Push[string, int64], error)

// An aggregation is an operator of sums with a rig around it.
type aggregation struct {
	*rig
	push    flow.Push[string, int64]
	op      flow.Stateful
	commits int64
	updates []got[int64]
	finals  []got[int64]
	late    []got[int64]
}

func newAggregation(t *testing.T, spec Spec[string, int64, int64], build builder) *aggregation {
	a := &aggregation{rig: newRig(t)}
	spec.Updates, spec.Final, spec.Late = collect(&a.updates), collect(&a.finals), collect(&a.late)
	var err error
	a.push, err = build(a.task, spec)
	require.NoError(t, err)
	a.op = a.task.Stateful()[0]
	require.EqualValues(t, node, a.op.Node())
	return a
}

func tumbling10(t *flow.Task, s Spec[string, int64, int64]) (flow.Push[string, int64], error) {
	return Windowed(t, s, window.Tumbling(10*time.Millisecond).Grace(5*time.Millisecond))
}

func gap5(t *flow.Task, s Spec[string, int64, int64]) (flow.Push[string, int64], error) {
	return Session(t, s, window.Gap(5*time.Millisecond).Grace(3*time.Millisecond))
}

// at pushes a record.
func (a *aggregation) at(ms int64, key string, v int64) {
	a.ctx.Time = ms
	a.push(&a.ctx, key, v)
}

// commit flushes and returns the updates.
func (a *aggregation) commit(watermark int64) []got[int64] {
	a.updates = nil
	a.commits++
	require.NoError(a.t, a.op.Flush(&a.ctx, a.commits, watermark))
	a.op.Committed(a.commits, state.Position{Offset: a.commits})
	return a.updates
}

// rows returns what the store has.
func (a *aggregation) rows() (list []got[int64]) {
	require.NoError(a.t, a.op.Each(func(k any, w window.Span, v any) bool {
		list = append(list, got[int64]{key: k.(string), window: w, value: v.(int64)})
		return true
	}))
	return list
}

// kinds are the operators with a store; row is what one record with the key "k"
// and the value 1 at 3 makes.
var kinds = map[string]struct {
	build builder
	row   got[int64]
}{
	"key-value": {Aggregate[string, int64, int64], got[int64]{key: "k", value: 1}},
	"table":     {Table[string, int64], got[int64]{key: "k", value: 1}},
	"window":    {tumbling10, got[int64]{key: "k", value: 1, window: window.Millis(0, 10)}},
	"session":   {gap5, got[int64]{key: "k", value: 1, window: window.Millis(3, 4)}},
}

// An update carries the watermark of the task, but never one beyond its own
// time: it would be late downstream.
func TestUpdates(t *testing.T) {
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			for watermark, carried := range map[int64]int64{1: 1, 3: 3, 4: 3} {
				a := newAggregation(t, sums(name), k.build)
				a.ctx.Headers = header("a", "1")
				a.at(3, "k", 1)
				require.Equal(t, []got[int64]{k.row}, a.rows())
				require.Equal(t, 1, a.op.Dirty())
				a.ctx.Headers[0].Value[0] = '2' // the fetch is over: the batch was read as it came
				want := k.row
				want.time, want.carried, want.headers = 3, carried, "a:2"
				require.Equal(t, []got[int64]{want}, a.commit(watermark))
				require.Len(t, a.log, 1)
				a.ctx.Headers[0].Value[0] = '3' // and its memory used again
				_, err := a.op.WriteBehind(math.MaxInt64, math.MaxInt)
				require.NoError(t, err)
				require.NoError(t, a.part.Rows(func(_, row []byte) error {
					require.Contains(t, string(row), "a\x022", "the header, with the length of its value between")
					return nil
				}))
				a.ctx.Headers = nil
				a.at(3, "other", 1)
				require.Len(t, a.commit(1), 1)
				require.Equal(t, 0, a.op.Dirty())
				a.ctx.Headers = header("b", "1")
			}
		})
	}
}

// What failed leaves no row behind, and no change in one.
func TestFailedFoldsChangeNothing(t *testing.T) {
	for name, k := range kinds {
		if name == "table" {
			continue // it has no function
		}
		t.Run(name, func(t *testing.T) {
			a := newAggregation(t, sums(name), k.build)
			bytes := a.op.Bytes()
			a.at(3, "k", 13)
			require.EqualValues(t, 1, a.drops(flow.Failed))
			require.Empty(t, a.rows())
			require.Equal(t, bytes, a.op.Bytes())
			require.Empty(t, a.commit(0))
			require.Empty(t, a.lowered, "there is nothing to close")
			a.at(3, "k", 1)
			a.commit(0)
			a.ctx.Headers = header("a", "1")
			a.at(4, "k", 13)
			require.EqualValues(t, 1, a.drops(flow.Failed))
			require.Equal(t, []got[int64]{k.row}, a.rows())
			require.Equal(t, 0, a.op.Dirty())
			require.Empty(t, a.commit(0))
		})
	}
}

func TestRecordsWithoutKeyOrValue(t *testing.T) {
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			a := newAggregation(t, sums(name), k.build)
			a.ctx.NullKey = true
			a.at(3, "", 1)
			require.EqualValues(t, 1, a.drops(flow.NullKey))
			a.ctx.NullKey, a.ctx.Deleted = false, true
			a.at(3, "k", 0)
			require.Equal(t, name != "table", a.drops(flow.NullValue) == 1)
			require.Empty(t, a.rows())
			require.Empty(t, a.late)
			require.Empty(t, a.commit(0))
			require.Empty(t, a.log)
			require.Empty(t, a.failure())
		})
	}
}

// A failure downstream ends a flush or a closing.
func TestFailuresDownstream(t *testing.T) {
	fails := func(c *flow.Context, _ string, _ int64) { c.Fail(errors.New("no")) }
	for name, k := range kinds {
		start := func(updates, final flow.Push[string, int64]) (*rig, flow.Stateful) {
			r := newRig(t)
			spec := sums(name)
			spec.Updates, spec.Final = updates, final
			push, err := k.build(r.task, spec)
			require.NoError(t, err)
			r.ctx.Time = 3
			push(&r.ctx, "k", 1)
			return r, r.task.Stateful()[0]
		}
		t.Run(name, func(t *testing.T) {
			r, op := start(fails, nil)
			require.EqualError(t, op.Flush(&r.ctx, 1, 0), "no")
			if name != "window" && name != "session" {
				return
			}
			for _, s := range [][2]flow.Push[string, int64]{{fails, nil}, {nil, fails}, {fails, func(*flow.Context, string, int64) {
				t.Error("a result after a failure")
			}}} {
				r, op = start(s[0], s[1])
				_, err := op.Fire(&r.ctx, 100, 100)
				require.EqualError(t, err, "no")
			}
		})
	}
}

// A session has two updates: the window that it was told as goes, and then it
// comes as it is.
func TestFailureBetweenUpdates(t *testing.T) {
	r := newRig(t)
	spec := sums("session")
	calls := 0
	spec.Updates = func(c *flow.Context, _ string, _ int64) {
		if calls++; calls == 2 {
			require.True(t, c.Deleted)
			c.Fail(errors.New("no"))
		}
	}
	push, err := gap5(r.task, spec)
	require.NoError(t, err)
	op := r.task.Stateful()[0]
	push(&r.ctx, "k", 1)
	require.NoError(t, op.Flush(&r.ctx, 1, 0))
	r.ctx.Time = 1
	push(&r.ctx, "k", 1)
	require.EqualError(t, op.Flush(&r.ctx, 2, 0), "no")
	require.Equal(t, 2, calls)
}

// A store without anyone who listens closes all the same.
func TestNobodyListens(t *testing.T) {
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			push, err := k.build(r.task, sums(name))
			require.NoError(t, err)
			op := r.task.Stateful()[0]
			r.ctx.Time = 3
			push(&r.ctx, "k", 1)
			require.NoError(t, op.Flush(&r.ctx, 1, 0))
			require.Len(t, r.log, 1)
			more, err := op.Fire(&r.ctx, 100, 100)
			require.NoError(t, err)
			require.False(t, more)
			r.ctx.Carried = 100
			push(&r.ctx, "k", 1)
			require.Empty(t, r.failure())
		})
	}
}

// Stores of keys never close anything, and only compaction shortens their logs.
func TestStoresOfKeysStayOpen(t *testing.T) {
	for _, name := range []string{"key-value", "table"} {
		a := newAggregation(t, sums(name), kinds[name].build)
		a.at(3, "k", 1)
		require.EqualValues(t, math.MaxInt64, a.op.Deadline())
		require.Equal(t, state.Progress{Closed: math.MinInt64}, a.op.Progress())
		require.EqualValues(t, math.MinInt64, a.op.Resume())
		from, cut := a.op.NeededFrom(100)
		require.False(t, cut)
		require.Zero(t, from)
		more, err := a.op.Fire(&a.ctx, math.MaxInt64, 1)
		require.NoError(t, err)
		require.False(t, more)
		require.Len(t, a.rows(), 1)
	}
}

func TestTable(t *testing.T) {
	a := newAggregation(t, sums("table"), kinds["table"].build)
	a.at(3, "k", 1)
	a.at(2, "k", 5)
	require.Equal(t, []got[int64]{{key: "k", value: 5, time: 2, carried: 2}}, a.commit(100))
	a.ctx.Deleted, a.ctx.Headers = true, header("a", "1")
	a.at(1, "k", 0)
	require.Empty(t, a.rows())
	require.Equal(t, []got[int64]{{key: "k", deleted: true, time: 1, carried: 1, headers: "a:1"}}, a.commit(100))
	require.Equal(t, []string{"k", "k deleted"}, a.log)
	a.at(4, "k", 0)
	require.Empty(t, a.commit(100), "what is gone cannot go")
}
