package stream

import (
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/operator"
	"github.com/weirstream/weir/window"
)

// A Windowed is a grouped stream cut into fixed windows.
type Windowed[K, V any] struct {
	h    handle[K, V]
	w    window.Fixed
	late *lateOutlet[K, V]
}

// A lateOutlet is where late records leave. The first aggregation of the
// windows feeds it.
type lateOutlet[K, V any] struct {
	out  *outlet[K, V]
	node *graph.Node // the aggregation that feeds it
}

// Count counts the records of every key and window.
func (w Windowed[K, V]) Count(name string) WindowedTable[K, int64] {
	return inWindows(w, "count", name, countOf[V]())
}

// Reduce combines the values of every key and window.
func (w Windowed[K, V]) Reduce(name string, f func(V, V) V) WindowedTable[K, V] {
	return inWindows(w, "reduce", name, reduceOf(f))
}

// Aggregate folds the values of every key and window into an A that starts as
// zero(). add may change its argument and return it.
func (w Windowed[K, V]) Aggregate[A any](name string, zero func() A, add func(A, V) A) WindowedTable[K, A] {
	return inWindows(w, "aggregate", name, aggregateOf(zero, add, nil))
}

// Late is the stream of records that arrived after all their windows closed,
// under the grouping's key. A record that missed only some of its windows was
// counted in the others and is not in it.
func (w Windowed[K, V]) Late() Stream[K, V] { return lateStream(w.h, w.late) }

func inWindows[K, V, A any](w Windowed[K, V], op, name string, fold operator.Fold[V, A]) WindowedTable[K, A] {
	n := stateful[K, A](w.h.top, op, name, "window", w.w.Grace(0).String(), w.h.at.node)
	if err := w.w.Validate(); err != nil {
		w.h.top.graph.Fail(n, err)
	}
	return windowedTable(w.h, n, w.late, fold, w.w.GraceMs(), func(t *flow.Task, s operator.Spec[K, V, A]) (flow.Push[K, V], error) {
		return operator.Windowed(t, s, w.w)
	})
}

// windowedTable hangs an aggregation over windows below h. hold is how far its
// final results are behind its input.
func windowedTable[K, V, A any](
	h handle[K, V], n *graph.Node, late *lateOutlet[K, V], fold operator.Fold[V, A], hold int64,
	open func(*flow.Task, operator.Spec[K, V, A]) (flow.Push[K, V], error),
) WindowedTable[K, A] {
	top := h.top
	first := late.node == nil
	if first {
		late.node = n
		if late.out != nil {
			late.out.node.Parents = append(late.out.node.Parents, n)
		}
	}
	out := &tableOutlets[K, A]{node: n}
	attach(h.at, n, func(t *flow.Task) (flow.Push[K, V], error) {
		s, err := spec[K, V, A](top, t, n, fold)
		if err != nil {
			return nil, err
		}
		if s.Updates, err = buildOr(out.updates, t); err != nil {
			return nil, err
		}
		if s.Final, err = buildOr(out.final, t); err != nil {
			return nil, err
		}
		if first {
			if s.Late, err = buildOr(late.out, t); err != nil {
				return nil, err
			}
		}
		return open(t, s)
	})
	return WindowedTable[K, A]{h: handle[K, A]{top: top}, out: out, hold: hold}
}

// lateStream returns the stream of late records, after making it if it is new.
func lateStream[K, V any](h handle[K, V], late *lateOutlet[K, V]) Stream[K, V] {
	if late.out == nil {
		n := h.top.graph.Add(graph.Output, "late", "", h.at.node)
		late.out = &outlet[K, V]{node: n}
		n.Check = func(n *graph.Node) error {
			if late.node == nil {
				return errNothingLate
			}
			return nil
		}
	}
	return Stream[K, V]{handle[K, V]{top: h.top, at: late.out}}
}

// A WindowedTable is the latest value of every key and window.
type WindowedTable[K, V any] struct {
	h    handle[K, V]
	out  *tableOutlets[K, V]
	hold int64
}

// Final emits one record for each key and window, when the window closes: at
// watermark >= end + grace, and for a session at watermark > last + gap +
// grace. Record.Time is the window's last millisecond; for a session, the time
// of its last record. Closing does not wait for another record of the key.
func (t WindowedTable[K, V]) Final() Stream[K, V] {
	return t.out.stream(t.h.top, &t.out.final, "final", true, false, t.hold)
}

// Updates emits rows as they change, the latest of each at every commit. A
// session that changed its bounds leaves a tombstone for its old window.
// Record.Time is that of the latest record in it.
func (t WindowedTable[K, V]) Updates() Stream[K, V] {
	return t.out.stream(t.h.top, &t.out.updates, "updates", true, true, 0)
}
