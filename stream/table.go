package stream

import (
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/operator"
)

// A Table is the latest value of every key, changing over time.
type Table[K, V any] struct {
	h   handle[K, V]
	out *tableOutlets[K, V]
}

// tableOutlets are the streams that come out of an operator with a store. They
// are made when they are first asked for.
type tableOutlets[K, V any] struct {
	node    *graph.Node
	updates *outlet[K, V]
	final   *outlet[K, V]
}

// stream returns one of the outlets, after making it if it is new.
func (o *tableOutlets[K, V]) stream(top *Topology, at **outlet[K, V], op string, windowed, fromUpdates bool, hold int64) Stream[K, V] {
	if *at == nil {
		n := top.graph.Add(graph.Output, op, "", o.node)
		n.Windowed, n.WindowLost, n.FromUpdates, n.Hold = windowed, windowed, fromUpdates, hold
		*at = &outlet[K, V]{node: n}
	}
	return Stream[K, V]{handle[K, V]{top: top, at: *at}}
}

// ToTable keeps the latest value of every key in the store called name;
// tombstones delete.
func (s Stream[K, V]) ToTable(name string) Table[K, V] {
	top := s.h.top
	n := stateful[K, V](top, "to-table", name, "key-value", "", s.h.at.node)
	out := &tableOutlets[K, V]{node: n}
	attach(s.h.at, n, func(t *flow.Task) (flow.Push[K, V], error) {
		sp, err := spec[K, V](top, t, n, operator.Fold[V, V]{})
		if err != nil {
			return nil, err
		}
		if sp.Updates, err = buildOr(out.updates, t); err != nil {
			return nil, err
		}
		return operator.Table(t, sp)
	})
	n.Use() // a table is of use by itself: its store can be read
	return Table[K, V]{h: handle[K, V]{top: top}, out: out}
}

// Updates emits rows as they change, the latest of each at every commit, and a
// tombstone for a row that is deleted. Record.Time is that of the latest record
// that went into the row.
func (t Table[K, V]) Updates() Stream[K, V] {
	return t.out.stream(t.h.top, &t.out.updates, "updates", false, true, 0)
}
