package stream

import (
	"errors"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/operator"
	"github.com/weirstream/weir/window"
)

// A Sessions is a grouped stream cut into sessions.
type Sessions[K, V any] struct {
	h    handle[K, V]
	w    window.Session
	late *lateOutlet[K, V]
}

var errNothingLate = errors.New("the windows have no aggregation yet: add Count, Reduce or Aggregate to say what a record is late for")

// Count counts the records of every session.
func (s Sessions[K, V]) Count(name string) WindowedTable[K, int64] {
	return inSessions(s, "count", name, countOf[V]())
}

// Reduce combines the values of every session. When a record bridges sessions,
// they are combined in the order of time first, and the record's value last.
func (s Sessions[K, V]) Reduce(name string, f func(V, V) V) WindowedTable[K, V] {
	return inSessions(s, "reduce", name, reduceOf(f))
}

// Aggregate folds the values of every session into an A that starts as zero();
// merge joins two sessions that a record has bridged, the earlier one first.
// Neither add nor merge may change its arguments: a session that a failed
// function touched must be as it was.
func (s Sessions[K, V]) Aggregate[A any](name string, zero func() A, add func(A, V) A, merge func(A, A) A) WindowedTable[K, A] {
	return inSessions(s, "aggregate", name, aggregateOf(zero, add, merge))
}

// Late is the stream of records that arrived after their session closed, under
// the grouping's key.
func (s Sessions[K, V]) Late() Stream[K, V] { return lateStream(s.h, s.late) }

func inSessions[K, V, A any](s Sessions[K, V], op, name string, fold operator.Fold[V, A]) WindowedTable[K, A] {
	n := stateful[K, A](s.h.top, op, name, "session", s.w.Grace(0).String(), s.h.at.node)
	if err := s.w.Validate(); err != nil {
		s.h.top.graph.Fail(n, err)
	}
	hold := s.w.GapMs() + s.w.GraceMs()
	return windowedTable(s.h, n, s.late, fold, hold, func(t *flow.Task, sp operator.Spec[K, V, A]) (flow.Push[K, V], error) {
		return operator.Session(t, sp, s.w)
	})
}
