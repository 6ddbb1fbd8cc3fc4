package stream

import (
	"iter"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/operator"
)

// A Stream is an unbounded sequence of records, in order within each key.
//
// Functions of values never see a tombstone: it passes Filter, Map, FlatMap
// and both sides of Split unchanged, and what needs a value drops and counts
// it. The Record forms see it as Record.Deleted.
//
// Only SelectKey changes a key. An operator that needs equal keys in one place
// must then come after Repartition or GroupBy, which name the topic; Build
// reports where one is missing.
type Stream[K, V any] struct{ h handle[K, V] }

// Filter keeps the values that satisfy keep.
func (s Stream[K, V]) Filter(keep func(V) bool) Stream[K, V] {
	return Stream[K, V]{derive(s.h, "filter", func(n int32, p *flow.Policy, next flow.Push[K, V]) flow.Push[K, V] {
		return operator.FilterValue(n, p, keep, next)
	})}
}

// FilterRecord is Filter with sight of the record, tombstones too.
func (s Stream[K, V]) FilterRecord(keep func(Record[K, V]) bool) Stream[K, V] {
	f := func(c *flow.Context, k K, v V) bool { return keep(recordOf(c, k, v)) }
	return Stream[K, V]{derive(s.h, "filter", func(n int32, p *flow.Policy, next flow.Push[K, V]) flow.Push[K, V] {
		return operator.Filter(n, p, true, f, next)
	}).looked()}
}

// Map replaces each value.
func (s Stream[K, V]) Map[U any](f func(V) U) Stream[K, U] {
	return Stream[K, U]{derive(s.h, "map", func(n int32, p *flow.Policy, next flow.Push[K, U]) flow.Push[K, V] {
		return operator.MapValue(n, p, f, next)
	})}
}

// MapRecord is Map with sight of the record. Tombstones pass it by.
func (s Stream[K, V]) MapRecord[U any](f func(Record[K, V]) U) Stream[K, U] {
	g := func(c *flow.Context, k K, v V) U { return f(recordOf(c, k, v)) }
	return Stream[K, U]{derive(s.h, "map", func(n int32, p *flow.Policy, next flow.Push[K, U]) flow.Push[K, V] {
		return operator.Map(n, p, g, next)
	}).looked()}
}

// TryMap is Map for a function that can fail; see OnError.
func (s Stream[K, V]) TryMap[U any](f func(V) (U, error)) Stream[K, U] {
	g := func(_ *flow.Context, _ K, v V) (U, error) { return f(v) }
	return Stream[K, U]{derive(s.h, "try-map", func(n int32, p *flow.Policy, next flow.Push[K, U]) flow.Push[K, V] {
		return operator.TryMap(n, p, g, next)
	})}
}

// TryMapRecord is TryMap with sight of the record. Tombstones pass it by.
func (s Stream[K, V]) TryMapRecord[U any](f func(Record[K, V]) (U, error)) Stream[K, U] {
	g := func(c *flow.Context, k K, v V) (U, error) { return f(recordOf(c, k, v)) }
	return Stream[K, U]{derive(s.h, "try-map", func(n int32, p *flow.Policy, next flow.Push[K, U]) flow.Push[K, V] {
		return operator.TryMap(n, p, g, next)
	}).looked()}
}

// FlatMap replaces each value by any number of values under the same key. The
// values of one record are collected before the first goes on.
func (s Stream[K, V]) FlatMap[U any](f func(V) iter.Seq[U]) Stream[K, U] {
	g := func(_ *flow.Context, _ K, v V) iter.Seq[U] { return f(v) }
	return Stream[K, U]{derive(s.h, "flat-map", func(n int32, p *flow.Policy, next flow.Push[K, U]) flow.Push[K, V] {
		return operator.FlatMap(n, p, false, g, next)
	})}
}

// FlatMapRecord is FlatMap with sight of the record, tombstones too.
func (s Stream[K, V]) FlatMapRecord[U any](f func(Record[K, V]) iter.Seq[U]) Stream[K, U] {
	g := func(c *flow.Context, k K, v V) iter.Seq[U] { return f(recordOf(c, k, v)) }
	return Stream[K, U]{derive(s.h, "flat-map", func(n int32, p *flow.Policy, next flow.Push[K, U]) flow.Push[K, V] {
		return operator.FlatMap(n, p, true, g, next)
	}).looked()}
}

// DeleteWhen turns the values that satisfy gone into tombstones.
func (s Stream[K, V]) DeleteWhen(gone func(V) bool) Stream[K, V] {
	return Stream[K, V]{derive(s.h, "delete-when", func(n int32, p *flow.Policy, next flow.Push[K, V]) flow.Push[K, V] {
		return operator.DeleteWhen(n, p, gone, next)
	})}
}

// SelectKey replaces each key by one computed from the value. A tombstone has
// no value: it is dropped and counted.
func (s Stream[K, V]) SelectKey[K2 any](key func(V) K2) Stream[K2, V] {
	return Stream[K2, V]{selectKey(s.h, false, func(_ *flow.Context, _ K, v V) K2 { return key(v) })}
}

// SelectKeyRecord is SelectKey with sight of the record, tombstones too.
func (s Stream[K, V]) SelectKeyRecord[K2 any](key func(Record[K, V]) K2) Stream[K2, V] {
	return Stream[K2, V]{selectKey(s.h, true, func(c *flow.Context, k K, v V) K2 { return key(recordOf(c, k, v)) }).looked()}
}

func selectKey[K, V, K2 any](s handle[K, V], tombstones bool, f func(*flow.Context, K, V) K2) handle[K2, V] {
	h := derive(s, "select-key", func(n int32, p *flow.Policy, next flow.Push[K2, V]) flow.Push[K, V] {
		return operator.SelectKey(n, p, tombstones, f, next)
	})
	h.at.node.KeyChanged = true
	return h
}

// SetHeaders replaces each record's headers.
func (s Stream[K, V]) SetHeaders(f func(Record[K, V]) Headers) Stream[K, V] {
	g := func(c *flow.Context, k K, v V) []kgo.RecordHeader { return f(recordOf(c, k, v)) }
	return Stream[K, V]{derive(s.h, "set-headers", func(n int32, p *flow.Policy, next flow.Push[K, V]) flow.Push[K, V] {
		return operator.SetHeaders(n, p, g, next)
	})}
}

// Peek calls f with every record passing by, again if its transaction fails.
func (s Stream[K, V]) Peek(f func(Record[K, V])) Stream[K, V] {
	g := func(c *flow.Context, k K, v V) { f(recordOf(c, k, v)) }
	return Stream[K, V]{derive(s.h, "peek", func(n int32, p *flow.Policy, next flow.Push[K, V]) flow.Push[K, V] {
		return operator.Peek(n, p, g, next)
	})}
}

// Merge interleaves streams of one type. Where they come from several topics, a
// task takes the record with the smallest timestamp first.
func (s Stream[K, V]) Merge(others ...Stream[K, V]) Stream[K, V] {
	ins, parents := []Stream[K, V]{s}, []*graph.Node{s.h.at.node}
	for _, o := range others {
		if o.h.top == s.h.top {
			ins, parents = append(ins, o), append(parents, o.h.at.node)
		}
	}
	n := s.h.top.graph.Add(graph.Stateless, "merge", "", parents...)
	if len(parents) <= len(others) {
		s.h.top.graph.Fail(n, errOtherTopology)
	}
	for _, p := range parents[1:] {
		n.KeyChanged = n.KeyChanged || p.KeyChanged
		n.WindowLost = n.WindowLost || p.WindowLost
	}
	out := &outlet[K, V]{node: n}
	for _, in := range ins {
		attach(in.h.at, n, out.build)
	}
	return Stream[K, V]{handle[K, V]{top: s.h.top, at: out}}
}

// Split parts the values that satisfy take from the rest. Tombstones go both
// ways.
func (s Stream[K, V]) Split(take func(V) bool) (taken, rest Stream[K, V]) {
	g := s.h.top.graph
	n := g.Add(graph.Stateless, "split", "", s.h.at.node)
	yes := &outlet[K, V]{node: g.Add(graph.Output, "taken", "", n)}
	no := &outlet[K, V]{node: g.Add(graph.Output, "rest", "", n)}
	yes.node.Use() // either side may go nowhere: the rest of a split is often not wanted
	no.node.Use()
	attach(s.h.at, n, func(t *flow.Task) (flow.Push[K, V], error) {
		a, err := yes.build(t)
		if err != nil {
			return nil, err
		}
		b, err := no.build(t)
		return operator.Split(int32(n.ID), n.Policy, take, a, b), err
	})
	return Stream[K, V]{handle[K, V]{top: s.h.top, at: yes}}, Stream[K, V]{handle[K, V]{top: s.h.top, at: no}}
}

// OnError sets the policy of the operators and sinks that follow.
func (s Stream[K, V]) OnError(p ErrorPolicy) Stream[K, V] {
	h := derive(s.h, "on-error", func(_ int32, _ *flow.Policy, next flow.Push[K, V]) flow.Push[K, V] { return next })
	h.at.node.Policy = &p.p
	return Stream[K, V]{h}
}
