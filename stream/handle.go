package stream

import (
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/operator"
)

// A handle points at one outlet of a topology. Its empty array of functions
// costs nothing and makes handles of different types different to the compiler,
// so that no conversion can turn one stream into another.
type handle[K, V any] struct {
	_   [0]func(K, V)
	top *Topology
	at  *outlet[K, V]
}

// An outlet is where records leave an operator. Operators downstream hang
// themselves on it; when a task is made, it is asked for what they become.
type outlet[K, V any] struct {
	node *graph.Node
	next []func(*flow.Task) (flow.Push[K, V], error)
}

// build makes the operators downstream for a task.
func (o *outlet[K, V]) build(t *flow.Task) (flow.Push[K, V], error) {
	pushes := make([]flow.Push[K, V], 0, len(o.next))
	for _, next := range o.next {
		p, err := next(t)
		if err != nil {
			return nil, err
		}
		pushes = append(pushes, p)
	}
	return operator.FanOut(pushes), nil
}

// buildOr is build, or nil for an outlet that nobody asked for.
func buildOr[K, V any](o *outlet[K, V], t *flow.Task) (flow.Push[K, V], error) {
	if o == nil {
		return nil, nil
	}
	return o.build(t)
}

// attach hangs the operator of a node on an outlet: build makes it, once per
// task.
func attach[K, V any](o *outlet[K, V], n *graph.Node, build func(t *flow.Task) (flow.Push[K, V], error)) {
	o.next = append(o.next, func(t *flow.Task) (flow.Push[K, V], error) {
		return flow.Memo(t, n.ID, func() (flow.Push[K, V], error) { return build(t) })
	})
}

// derive adds a stateless operator below s. make makes it out of what is
// downstream.
func derive[K, V, K2, V2 any](
	s handle[K, V], op string, make func(n int32, p *flow.Policy, next flow.Push[K2, V2]) flow.Push[K, V],
) handle[K2, V2] {
	n := s.top.graph.Add(graph.Stateless, op, "", s.at.node)
	out := &outlet[K2, V2]{node: n}
	attach(s.at, n, func(t *flow.Task) (flow.Push[K, V], error) {
		next, err := out.build(t)
		return make(int32(n.ID), n.Policy, next), err
	})
	return handle[K2, V2]{top: s.top, at: out}
}

// looked marks the stream's windows as seen by a function of the user's.
func (h handle[K, V]) looked() handle[K, V] {
	h.at.node.WindowLost = false
	return h
}
