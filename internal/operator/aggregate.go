package operator

import (
	"math"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// aggregate folds the values of every key: Count, Reduce and Aggregate without
// windows.
type aggregate[K, V, A any] struct {
	base[K, V, A]
	*state.KeyValue[A]
}

// Aggregate makes the operator for one task.
func Aggregate[K, V, A any](t *flow.Task, s Spec[K, V, A]) (flow.Push[K, V], error) {
	part, log, _, err := t.Store(int(s.Node), s.Descriptor)
	if err != nil {
		return nil, err
	}
	store, err := state.OpenKeyValue(part, log, s.Value)
	if err != nil {
		return nil, err
	}
	op := &aggregate[K, V, A]{base[K, V, A]{Spec: s}, store}
	t.Register(op)
	return op.push, nil
}

func (op *aggregate[K, V, A]) push(c *flow.Context, k K, v V) {
	if c.Deleted {
		c.Drop(op.Spec.Node, flow.NullValue)
		return
	}
	key, ok := op.keyed(c, k)
	if !ok {
		return
	}
	r, existed, err := op.Upsert(key)
	if err != nil {
		c.Fail(err)
		return
	}
	if !op.add(c, r, v, existed) {
		if !existed {
			op.Undo(r)
		}
		return
	}
	latest(r, c, existed)
	op.Touch(r)
}

// Flush implements flow.Stateful.
func (op *aggregate[K, V, A]) Flush(c *flow.Context, commit, watermark int64) error {
	return op.KeyValue.Flush(commit, func(r *state.Row[A]) error { return op.update(c, r, watermark) })
}

func (op *base[K, V, A]) update(c *flow.Context, r *state.Row[A], watermark int64) error {
	r.Headers = cloneHeaders(r.Headers)
	if op.Updates == nil {
		return nil
	}
	return op.emit(c, op.Updates, r.Key(), r, r.Time, min(watermark, r.Time), window.Span{}, r.Deleted)
}

// Deadline implements flow.Stateful: nothing is ever closed.
func (*aggregate[K, V, A]) Deadline() int64 { return math.MaxInt64 }

// Fire implements flow.Stateful.
func (*aggregate[K, V, A]) Fire(*flow.Context, int64, int) (bool, error) { return false, nil }

// Progress implements flow.Stateful.
func (*aggregate[K, V, A]) Progress() state.Progress { return state.Progress{Closed: math.MinInt64} }

// Resume implements flow.Stateful.
func (*aggregate[K, V, A]) Resume() int64 { return math.MinInt64 }

// NeededFrom implements flow.Stateful.
func (*aggregate[K, V, A]) NeededFrom(int64) (int64, bool) { return 0, false }

// Each implements flow.Stateful.
func (op *aggregate[K, V, A]) Each(f func(key any, w window.Span, value any) bool) error {
	return op.each(op.All, f, func(r *state.Row[A]) window.Span { return window.Span{} })
}
