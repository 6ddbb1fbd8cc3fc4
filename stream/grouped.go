package stream

import (
	"errors"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/operator"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// A Grouped is a stream ready to be aggregated key by key.
type Grouped[K, V any] struct{ from handle[K, V] }

// GroupByKey groups by the present key.
func (s Stream[K, V]) GroupByKey() Grouped[K, V] { return Grouped[K, V]{s.h} }

// GroupBy groups by a key computed from the value, through the repartition
// topic called name.
func (s Stream[K, V]) GroupBy[K2 any](name string, key func(V) K2, opts ...TopicOption) Grouped[K2, V] {
	return Grouped[K2, V]{repartition(selectKey(s.h, false, func(_ *flow.Context, _ K, v V) K2 { return key(v) }), name, opts)}
}

// Count counts the records of every key. Records without key or value are
// dropped and counted as such.
func (g Grouped[K, V]) Count(name string) Table[K, int64] {
	return aggregated(g.from, "count", name, countOf[V]())
}

// Reduce combines the values of every key: f is given what came before and the
// new value.
func (g Grouped[K, V]) Reduce(name string, f func(V, V) V) Table[K, V] {
	return aggregated(g.from, "reduce", name, reduceOf(f))
}

// Aggregate folds the values of every key into an A that starts as zero(). add
// may change its argument and return it.
func (g Grouped[K, V]) Aggregate[A any](name string, zero func() A, add func(A, V) A) Table[K, A] {
	return aggregated(g.from, "aggregate", name, aggregateOf(zero, add, nil))
}

// Windowed cuts every key's records into windows.
func (g Grouped[K, V]) Windowed(w window.Fixed) Windowed[K, V] {
	return Windowed[K, V]{h: g.from, w: w, late: &lateOutlet[K, V]{}}
}

// Sessions cuts every key's records into sessions.
func (g Grouped[K, V]) Sessions(w window.Session) Sessions[K, V] {
	return Sessions[K, V]{h: g.from, w: w, late: &lateOutlet[K, V]{}}
}

func countOf[V any]() operator.Fold[V, int64] {
	return operator.Fold[V, int64]{
		Add:   func(n int64, _ V, _ bool) int64 { return n + 1 },
		Merge: func(a, b int64) int64 { return a + b },
	}
}

func reduceOf[V any](f func(V, V) V) operator.Fold[V, V] {
	return operator.Fold[V, V]{
		Add: func(a V, v V, existed bool) V {
			if !existed {
				return v
			}
			return f(a, v)
		},
		Merge: f,
	}
}

func aggregateOf[V, A any](zero func() A, add func(A, V) A, merge func(A, A) A) operator.Fold[V, A] {
	return operator.Fold[V, A]{
		Add: func(a A, v V, existed bool) A {
			if !existed {
				a = zero()
			}
			return add(a, v)
		},
		Merge: merge,
	}
}

// stateful adds an operator with a store called name. kind and describe end up
// in the store's descriptor.
func stateful[K, A any](top *Topology, op, name, kind, describe string, parent *graph.Node) *graph.Node {
	n := top.graph.Add(graph.Stateful, op, name, parent)
	if name == "" {
		top.graph.Fail(n, graph.ValidName(name))
	}
	n.Store = &state.Descriptor{Name: name, Kind: kind, Window: describe}
	n.Check = func(n *graph.Node) error {
		var keyChanged error
		if n.KeyChanged {
			keyChanged = errKeyChanged
		}
		key, kerr := serdeOf[K](top)
		value, verr := serdeOf[A](top)
		if kerr == nil {
			kerr = serde.CheckKey(key)
		}
		if kerr == nil && verr == nil {
			n.Store.Key, n.Store.Value = serde.Describe(key), serde.Describe(value)
		}
		return errors.Join(keyChanged, kerr, verr)
	}
	return n
}

// spec is what the operator of a node with a store is made of.
func spec[K, V, A any](top *Topology, t *flow.Task, n *graph.Node, fold operator.Fold[V, A]) (operator.Spec[K, V, A], error) {
	key, kerr := serdeOf[K](top)
	value, verr := serdeOf[A](top)
	return operator.Spec[K, V, A]{
		Node: int32(n.ID), Policy: n.Policy, Descriptor: *n.Store, Key: key, Value: value, Fold: fold, Hold: t.Holds[n.ID],
	}, errors.Join(kerr, verr)
}

func aggregated[K, V, A any](h handle[K, V], op, name string, fold operator.Fold[V, A]) Table[K, A] {
	top := h.top
	n := stateful[K, A](top, op, name, "key-value", "", h.at.node)
	out := &tableOutlets[K, A]{node: n}
	attach(h.at, n, func(t *flow.Task) (flow.Push[K, V], error) {
		s, err := spec[K, V, A](top, t, n, fold)
		if err != nil {
			return nil, err
		}
		if s.Updates, err = buildOr(out.updates, t); err != nil {
			return nil, err
		}
		return operator.Aggregate(t, s)
	})
	return Table[K, A]{h: handle[K, A]{top: top}, out: out}
}
