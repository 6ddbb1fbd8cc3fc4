package operator

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/window"
)

// operators are all that have no store, with functions that fail for 13, and
// drop nothing else.
var operators = map[string]func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64]{
	"Map": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		return Map(node, p, func(_ *flow.Context, _ string, n int64) int64 { return not13(n) }, next)
	},
	"MapValue": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		return MapValue[string](node, p, not13, next)
	},
	"TryMap": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		return TryMap(node, p, func(_ *flow.Context, _ string, n int64) (int64, error) { return not13(n), nil }, next)
	},
	"Filter": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		return Filter(node, p, true, func(_ *flow.Context, _ string, n int64) bool { return not13(n) < 100 }, next)
	},
	"FilterValue": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		return FilterValue(node, p, func(n int64) bool { return not13(n) < 100 }, next)
	},
	"Split": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		ignore := func(*flow.Context, string, int64) {}
		return Split(node, p, func(n int64) bool { return not13(n) < 100 }, next, ignore)
	},
	"FlatMap": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		return FlatMap(node, p, true, func(_ *flow.Context, _ string, n int64) iter.Seq[int64] { return upTo13(n) }, next)
	},
	"SelectKey": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		return SelectKey(node, p, true, func(_ *flow.Context, k string, n int64) string { not13(n); return k }, next)
	},
	"DeleteWhen": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		return DeleteWhen(node, p, func(n int64) bool { return not13(n) == 7 }, next)
	},
	"SetHeaders": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		f := func(_ *flow.Context, _ string, n int64) []kgo.RecordHeader { not13(n); return header("b", "2") }
		return SetHeaders(node, p, f, next)
	},
	"Peek": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		return Peek(node, p, func(_ *flow.Context, _ string, n int64) { not13(n) }, next)
	},
	"FanOut": func(p *flow.Policy, next flow.Push[string, int64]) flow.Push[string, int64] {
		return FanOut([]flow.Push[string, int64]{MapValue[string](node, p, not13, next), func(*flow.Context, string, int64) {}})
	},
}

func not13(n int64) int64 {
	if n == 13 {
		panic("thirteen")
	}
	return n
}

// upTo13 yields one number, or fails after one.
func upTo13(n int64) iter.Seq[int64] {
	return func(yield func(int64) bool) { _ = yield(1) && n == 13 && yield(not13(n)) }
}

// What an operator changes for those downstream, those beside it do not see.
func TestContextIsPutBack(t *testing.T) {
	for name, build := range operators {
		for _, deleted := range []bool{false, true} {
			r := newRig(t)
			var list []got[int64]
			push := build(&flow.Policy{}, collect(&list))
			r.ctx = flow.Context{
				Task: r.task, Time: 1, Carried: 2, Fired: 3, Window: window.Millis(0, 4), Headers: header("a", "1"), Deleted: deleted,
				NullKey: true, RawKey: []byte("raw"), Source: &kgo.Record{}, Operator: node,
			}
			before := r.ctx
			push(&r.ctx, "k", 7)
			require.Equal(t, before, r.ctx, "%s, deleted %v", name, deleted)
			require.Len(t, list, 1, name)
		}
	}
}

func TestFailures(t *testing.T) {
	for name, build := range operators {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			var list []got[int64]
			push := build(&flow.Policy{Action: flow.Skip}, collect(&list))
			push(&r.ctx, "k", 13)
			require.Empty(t, list, "nothing of a record goes on that fails")
			require.EqualValues(t, 1, r.drops(flow.Failed))
			require.Empty(t, r.failure())
			push(&r.ctx, "k", 1)
			require.Len(t, list, 1)

			// The task recovers, and tells from the context whose function it was.
			r.ctx.Operator = upstream
			push = build(&flow.Policy{}, collect(&list))
			if name == "TryMap" {
				push(&r.ctx, "k", 13)
				require.Contains(t, r.failure(), "operator operator: a result of the task, event time 0 ms: panic: thirteen")
			} else {
				require.PanicsWithValue(t, "thirteen", func() { push(&r.ctx, "k", 13) })
			}
			require.Equal(t, node, r.ctx.Operator)
			require.Len(t, list, 1)
		})
	}
}

func TestRetriesBeforeStopping(t *testing.T) {
	r := newRig(t)
	var list []got[int64]
	left := 1
	push := MapValue[string](node, &flow.Policy{Retry: 1}, func(n int64) int64 {
		if left--; left >= 0 {
			panic("not yet")
		}
		return n
	}, collect(&list))
	push(&r.ctx, "k", 1)
	require.Len(t, list, 1)
	left = 2
	push(&r.ctx, "k", 1)
	require.Contains(t, r.failure(), "not yet")
	require.Len(t, list, 1)
}

func TestFanOutOfNothing(t *testing.T) {
	r := newRig(t)
	FanOut[string, int64](nil)(&r.ctx, "k", 1)
	require.Empty(t, r.failure())
}

// Nothing more is done for a record once the task has failed.
func TestNothingAfterAFailure(t *testing.T) {
	r := newRig(t)
	calls := 0
	fails := func(c *flow.Context, _ string, _ int64) {
		calls++
		c.Fail(errors.New("no"))
	}
	FanOut([]flow.Push[string, int64]{fails, fails})(&r.ctx, "k", 1)
	require.Equal(t, 1, calls)
	require.Equal(t, "no", r.failure())

	three := func(*flow.Context, string, int64) iter.Seq[int64] { return slices.Values([]int64{1, 2, 3}) }
	FlatMap(node, &flow.Policy{}, false, three, fails)(&r.ctx, "k", 1)
	require.Equal(t, 2, calls)
	require.Equal(t, "no", r.failure())
}

func TestFilterOfTombstones(t *testing.T) {
	for _, tombstones := range []bool{false, true} {
		r := newRig(t)
		var list []got[int64]
		push := Filter(node, &flow.Policy{}, tombstones, func(_ *flow.Context, _ string, n int64) bool { return n > 1 }, collect(&list))
		push(&r.ctx, "k", 1)
		push(&r.ctx, "k", 2)
		require.Equal(t, []int64{2}, values(list))
		r.ctx.Deleted = true
		push(&r.ctx, "k", 0)
		require.Equal(t, !tombstones, len(list) == 2)
	}
}

func TestSplit(t *testing.T) {
	r := newRig(t)
	var taken, rest []got[int64]
	push := Split(node, &flow.Policy{Action: flow.Skip}, func(n int64) bool { return not13(n) > 1 }, collect(&taken), collect(&rest))
	for n := range int64(3) {
		push(&r.ctx, "k", n)
	}
	push(&r.ctx, "k", 13)
	require.Equal(t, []int64{2}, values(taken))
	require.Equal(t, []int64{0, 1}, values(rest))
	r.ctx.Deleted = true
	push(&r.ctx, "k", 0)
	require.Equal(t, []int64{2, 0}, values(taken))
	require.Equal(t, []int64{0, 1, 0}, values(rest))
}

func values[V any](list []got[V]) (vs []V) {
	for _, g := range list {
		vs = append(vs, g.value)
	}
	return vs
}

// FlatMap's values have been collected before the first goes on: a record that
// comes back into it from downstream would overwrite them, but no topology has
// such a loop.
func TestFlatMapOfTombstones(t *testing.T) {
	r := newRig(t)
	var list []got[int64]
	f := func(*flow.Context, string, int64) iter.Seq[int64] { return slices.Values([]int64{1, 2}) }
	r.ctx.Deleted = true
	FlatMap(node, &flow.Policy{}, false, f, collect(&list))(&r.ctx, "k", 7)
	require.Len(t, list, 1)
	require.True(t, list[0].deleted)
	require.Zero(t, list[0].value)
	FlatMap(node, &flow.Policy{}, true, f, collect(&list))(&r.ctx, "k", 0)
	require.Equal(t, []int64{0, 1, 2}, values(list))
	require.False(t, list[1].deleted)
	require.True(t, r.ctx.Deleted)
}

// A new key is no longer the one whose bytes came with the record.
func TestSelectKeyForgetsTheBytes(t *testing.T) {
	r := newRig(t)
	r.ctx.RawKey, r.ctx.NullKey = []byte("old"), true
	called := false
	SelectKey(node, &flow.Policy{}, false, func(*flow.Context, string, int64) string { return "new" },
		func(c *flow.Context, k string, _ int64) {
			require.Equal(t, "new", k)
			require.Nil(t, c.RawKey)
			require.False(t, c.NullKey)
			called = true
		})(&r.ctx, "old", 1)
	require.True(t, called)
}

func TestSetHeaders(t *testing.T) {
	r := newRig(t)
	var list []got[int64]
	operators["SetHeaders"](&flow.Policy{}, collect(&list))(&r.ctx, "k", 1)
	require.Equal(t, "b:2", list[0].headers)
}

func TestPeekSeesTombstones(t *testing.T) {
	r := newRig(t)
	seen := 0
	push := Peek(node, &flow.Policy{}, func(c *flow.Context, _ string, _ int64) { seen++ }, func(*flow.Context, string, int64) {})
	push(&r.ctx, "k", 1)
	r.ctx.Deleted = true
	push(&r.ctx, "k", 0)
	require.Equal(t, 2, seen)
}
