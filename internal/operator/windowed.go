package operator

import (
	"math"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// windowed folds the values of every key and fixed window.
type windowed[K, V, A any] struct {
	base[K, V, A]
	*state.Window[A]
	fixed   window.Fixed
	nearest int64 // the earliest deadline that the task knows of
}

// Windowed makes the operator for one task.
func Windowed[K, V, A any](t *flow.Task, s Spec[K, V, A], w window.Fixed) (flow.Push[K, V], error) {
	part, log, progress, err := t.Store(int(s.Node), s.Descriptor)
	if err != nil {
		return nil, err
	}
	store, err := state.OpenWindow(part, log, s.Value, w, progress)
	if err != nil {
		return nil, err
	}
	op := &windowed[K, V, A]{base: base[K, V, A]{Spec: s}, Window: store, fixed: w}
	op.nearest = store.Deadline()
	t.Register(op)
	return op.push, nil
}

func (op *windowed[K, V, A]) push(c *flow.Context, k K, v V) {
	if c.Deleted {
		c.Drop(op.Spec.Node, flow.NullValue)
		return
	}
	key, ok := op.keyed(c, k)
	if !ok {
		return
	}
	took, fired := false, op.fired(c)
	for start := op.fixed.First(c.Time); start <= c.Time; start = op.fixed.Next(start) {
		if op.fixed.Late(start, c.Carried) || op.Closed(start) || op.fixed.Late(start, fired) {
			c.Drop(op.Spec.Node, flow.Late)
			continue
		}
		took = true
		if !op.fold(c, start, key, v) {
			return
		}
	}
	if !took && op.Late != nil {
		op.Late(c, k, v)
	}
}

// fold folds a value into one window.
func (op *windowed[K, V, A]) fold(c *flow.Context, start int64, key []byte, v V) bool {
	r, existed, err := op.Upsert(start, key)
	if err != nil {
		c.Fail(err)
		return false
	}
	if !op.add(c, r, v, existed) {
		if !existed {
			op.Forget(r)
		}
		return false
	}
	latest(r, c, existed)
	op.Touch(r)
	if d := op.fixed.ClosesAt(start); d < op.nearest {
		op.nearest = d
		c.Task.Lower(int(op.Spec.Node), d)
	}
	return true
}

// Fire implements flow.Stateful: it closes windows.
func (op *windowed[K, V, A]) Fire(c *flow.Context, watermark int64, limit int) (bool, error) {
	more, err := op.Close(watermark, limit, func(r *state.Row[A]) error {
		if op.Updates != nil && op.IsDirty(r) {
			if err := op.update(c, r, watermark); err != nil {
				return err
			}
		}
		if op.Final == nil {
			return nil
		}
		end := op.fixed.EndOf(r.Start)
		// The record carries the watermark that closed its window, less one, as
		// it is downstream of the operator, which holds grace back.
		return op.emit(c, op.Final, op.Key(r), r, end-1, end-1, window.Millis(r.Start, end), false)
	})
	op.nearest = op.Deadline()
	return more, err
}

// Flush implements flow.Stateful.
func (op *windowed[K, V, A]) Flush(c *flow.Context, commit, watermark int64) error {
	return op.Window.Flush(commit, func(r *state.Row[A]) error { return op.update(c, r, watermark) })
}

func (op *windowed[K, V, A]) update(c *flow.Context, r *state.Row[A], watermark int64) error {
	r.Headers = cloneHeaders(r.Headers)
	if op.Updates == nil {
		return nil
	}
	w := window.Millis(r.Start, op.fixed.EndOf(r.Start))
	return op.emit(c, op.Updates, op.Key(r), r, r.Time, min(watermark, r.Time), w, false)
}

// Resume implements flow.Stateful.
func (op *windowed[K, V, A]) Resume() int64 {
	if start, ok := op.Progress().Time(); ok {
		return op.fixed.ClosesAt(start)
	}
	return math.MinInt64
}

// NeededFrom implements flow.Stateful.
func (op *windowed[K, V, A]) NeededFrom(watermark int64) (int64, bool) {
	return op.Window.NeededFrom(watermark), true
}

// Each implements flow.Stateful.
func (op *windowed[K, V, A]) Each(f func(key any, w window.Span, value any) bool) error {
	return op.each(op.All, f, func(r *state.Row[A]) window.Span { return window.Millis(r.Start, op.fixed.EndOf(r.Start)) })
}
