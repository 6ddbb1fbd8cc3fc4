package operator

import (
	"math"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// session folds the values of every key and session.
type session[K, V, A any] struct {
	base[K, V, A]
	*state.Session[A]
	window  window.Session
	nearest int64 // the earliest deadline that the task knows of
}

// Session makes the operator for one task.
func Session[K, V, A any](t *flow.Task, s Spec[K, V, A], w window.Session) (flow.Push[K, V], error) {
	part, log, progress, err := t.Store(int(s.Node), s.Descriptor)
	if err != nil {
		return nil, err
	}
	store, err := state.OpenSession(part, log, s.Value, w, progress)
	if err != nil {
		return nil, err
	}
	op := &session[K, V, A]{base: base[K, V, A]{Spec: s}, Session: store, window: w}
	op.nearest = store.Deadline()
	t.Register(op)
	return op.push, nil
}

func (op *session[K, V, A]) push(c *flow.Context, k K, v V) {
	if c.Deleted {
		c.Drop(op.Spec.Node, flow.NullValue)
		return
	}
	key, ok := op.keyed(c, k)
	if !ok {
		return
	}
	of, err := op.Of(key)
	if err != nil {
		c.Fail(err)
		return
	}
	touched := op.touched(of, c.Time)
	if op.late(c, of, touched) {
		c.Drop(op.Spec.Node, flow.Late)
		if op.Late != nil {
			op.Late(c, k, v)
		}
		return
	}
	first, last := c.Time, c.Time
	if n := len(touched); n > 0 {
		first, last = min(first, touched[0].Start), max(last, touched[n-1].Last)
	}
	op.fold(c, of, touched, first, last, v)
}

// late reports whether the record is late: if a session that it touches is
// closed for the watermark that it carries, or closed here; or if it touches
// none, and a session of its own would be.
func (op *session[K, V, A]) late(c *flow.Context, of *state.Sessions[A], touched []*state.Row[A]) bool {
	if op.Reaches(of, c.Time) {
		return true
	}
	closed := max(c.Carried, op.fired(c))
	for _, r := range touched {
		if op.window.Late(r.Last, closed) {
			return true
		}
	}
	return len(touched) == 0 && (op.window.Late(c.Time, closed) || op.ClosedAt(c.Time))
}

// touched returns the sessions that a record at ms belongs to. They stand side
// by side, since sessions of one key are more than a gap apart.
func (op *session[K, V, A]) touched(of *state.Sessions[A], ms int64) []*state.Row[A] {
	lo := 0
	for lo < len(of.Rows) && !op.window.Touches(of.Rows[lo].Start, of.Rows[lo].Last, ms) {
		lo++
	}
	hi := lo
	for hi < len(of.Rows) && op.window.Touches(of.Rows[hi].Start, of.Rows[hi].Last, ms) {
		hi++
	}
	return of.Rows[lo:hi:hi]
}

// fold makes one session [first, last] of those touched and adds the value. It
// changes nothing if a user function fails.
func (op *session[K, V, A]) fold(c *flow.Context, of *state.Sessions[A], touched []*state.Row[A], first, last int64, v V) {
	merged, ok := call(c, op.Policy, op.Spec.Node, func(v V) A {
		if len(touched) == 0 {
			var zero A
			return op.Fold.Add(zero, v, false)
		}
		a := touched[0].Value
		for _, r := range touched[1:] {
			a = op.Fold.Merge(a, r.Value)
		}
		return op.Fold.Add(a, v, true)
	}, v)
	if !ok {
		return
	}
	r, newest := op.grown(of, touched, first, last)
	if newest < c.Time || len(touched) == 0 {
		newest = c.Time
	}
	r.Value, r.Time, r.Headers = merged, newest, c.Headers
	op.Touch(r)
	if d := op.window.ClosesAt(last); d < op.nearest {
		op.nearest = d
		c.Task.Lower(int(op.Spec.Node), d)
	}
}

// grown returns the row of the session [first, last], after taking away those
// that it replaces, and the latest time of a record in any of them. A session
// is stored under its first time: one that only grew at its end stays.
func (op *session[K, V, A]) grown(of *state.Sessions[A], touched []*state.Row[A], first, last int64) (*state.Row[A], int64) {
	var r *state.Row[A]
	newest := int64(0)
	for i, old := range append([]*state.Row[A](nil), touched...) {
		if i == 0 || old.Time > newest {
			newest = old.Time
		}
		if old.Start == first {
			r = old
		} else {
			op.Remove(of, old)
		}
	}
	if r == nil {
		return op.Insert(of, first, last), newest
	}
	r.Last = last
	return r, newest
}

// Fire implements flow.Stateful: it closes sessions.
func (op *session[K, V, A]) Fire(c *flow.Context, watermark int64, limit int) (bool, error) {
	more, err := op.Close(watermark, limit, func(r *state.Row[A]) error {
		if op.IsDirty(r) {
			if err := op.update(c, r, watermark); err != nil {
				return err
			}
		}
		if op.Final == nil {
			return nil
		}
		return op.emit(c, op.Final, op.Key(r), r, r.Last, r.Last, window.Millis(r.Start, r.Last+1), false)
	})
	op.nearest = op.Deadline()
	return more, err
}

// Flush implements flow.Stateful.
func (op *session[K, V, A]) Flush(c *flow.Context, commit, watermark int64) error {
	return op.Session.Flush(commit, func(r *state.Row[A]) error { return op.update(c, r, watermark) })
}

// update emits what became of a session since it was last told downstream: a
// tombstone for the window that it no longer has, and its present value.
func (op *session[K, V, A]) update(c *flow.Context, r *state.Row[A], watermark int64) error {
	r.Headers = cloneHeaders(r.Headers)
	if op.Updates == nil {
		return nil
	}
	if r.Shown != state.Unshown && (r.Deleted || r.Shown != r.Last) {
		err := op.emit(c, op.Updates, op.Key(r), r, r.Shown, min(watermark, r.Shown), window.Millis(r.Start, r.Shown+1), true)
		if err != nil {
			return err
		}
	}
	if r.Deleted {
		return nil
	}
	r.Shown = r.Last
	return op.emit(c, op.Updates, op.Key(r), r, r.Time, min(watermark, r.Time), window.Millis(r.Start, r.Last+1), false)
}

// Resume implements flow.Stateful.
func (op *session[K, V, A]) Resume() int64 {
	if last, ok := op.Progress().Time(); ok {
		return op.window.ClosesAt(last)
	}
	return math.MinInt64
}

// NeededFrom implements flow.Stateful.
func (op *session[K, V, A]) NeededFrom(watermark int64) (int64, bool) {
	return op.Session.NeededFrom(watermark), true
}

// Each implements flow.Stateful.
func (op *session[K, V, A]) Each(f func(key any, w window.Span, value any) bool) error {
	return op.each(op.All, f, func(r *state.Row[A]) window.Span { return window.Millis(r.Start, r.Last+1) })
}
