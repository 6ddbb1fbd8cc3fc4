package stream

import (
	"fmt"
	"reflect"
	"time"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/operator"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/watermark"
)

// A Topology is a description under construction. It is not safe for
// concurrent use.
type Topology struct {
	graph   *graph.Graph
	serdes  map[reflect.Type]any // by type of key or value: what Use chose
	sources map[string]source    // by topic
}

type source struct {
	outlet any // *outlet[K, V]
	node   *graph.Node
}

// New starts an empty topology. Its name begins the names of its consumer
// group, internal topics and transactions, unless Config.ID is set.
func New(name string) *Topology {
	return &Topology{graph: graph.New(name), serdes: map[reflect.Type]any{}, sources: map[string]source{}}
}

// Stream reads t as a stream of facts. A topic has one stream, however often it
// is asked for; only the first call may have options.
func (top *Topology) Stream[K, V any](t Topic[K, V], opts ...SourceOption) Stream[K, V] {
	if old, ok := top.sources[t.Name]; ok {
		out, same := old.outlet.(*outlet[K, V])
		switch {
		case !same:
			top.graph.Errorf("topic %s is read as other types at %s", t.Name, old.node.Where)
			out = &outlet[K, V]{node: old.node}
		case len(opts) > 0:
			top.graph.Errorf("topic %s has its options from %s: only the first call may have any", t.Name, old.node.Where)
		}
		return Stream[K, V]{handle[K, V]{top: top, at: out}}
	}
	var o sourceSettings
	for _, opt := range opts {
		opt(&o)
	}
	n := top.graph.Add(graph.Source, "source", t.Name)
	n.Topic, n.Partitioner, n.Policy = t.Name, t.Partitioner.flow(), o.policy
	n.Check = func(n *graph.Node) error { return checkTopic(t, o) }
	out := &outlet[K, V]{node: n}
	n.Reader = &graph.Reader{Strategy: o.watermarks, From: o.from, Open: func(task *flow.Task) (flow.Source, error) {
		next, err := out.build(task)
		if err != nil {
			return nil, err
		}
		raw := sameBytes(top, t.Key)
		return &operator.Source[K, V]{
			Node: int32(n.ID), Policy: n.Policy, Key: t.Key, Value: t.Value, Time: t.time,
			Strategy: o.watermarks, Raw: raw, Next: next,
		}, nil
	}}
	top.sources[t.Name] = source{out, n}
	return Stream[K, V]{handle[K, V]{top: top, at: out}}
}

func checkTopic[K, V any](t Topic[K, V], o sourceSettings) error {
	switch {
	case t.Name == "":
		return fmt.Errorf("the topic has no name")
	case t.Key == nil || t.Value == nil:
		return fmt.Errorf("topic %s has no serde for its keys or for its values: make it with NewTopic", t.Name)
	}
	return o.watermarks.Validate()
}

// Use encodes every T in state and internal topics with s instead of
// serde.Default. The choice hangs on the type alone, so that an operator put
// in later leaves existing state readable.
func (top *Topology) Use[T any](s serde.Serde[T]) {
	t := reflect.TypeFor[T]()
	if _, ok := top.serdes[t]; ok {
		top.graph.Errorf("a serde for %v has been chosen before", t)
	}
	top.serdes[t] = s
}

// serdeOf is what state and internal topics encode a T with.
func serdeOf[T any](top *Topology) (serde.Serde[T], error) {
	if s, ok := top.serdes[reflect.TypeFor[T]()]; ok {
		return s.(serde.Serde[T]), nil
	}
	s, err := serde.Default[T]()
	if err != nil {
		return nil, fmt.Errorf("%w; choose an encoding with Topology.Use", err)
	}
	return s, nil
}

// sameBytes reports whether keys that were encoded with s are what state would
// encode them to.
func sameBytes[K any](top *Topology, s serde.Serde[K]) bool {
	own, err := serdeOf[K](top)
	return err == nil && serde.Canonical(s) && serde.Canonical(own) && serde.Describe(s) == serde.Describe(own)
}

// A SourceOption configures a source.
type SourceOption func(*sourceSettings)

type sourceSettings struct {
	watermarks watermark.Strategy
	from       time.Time
	policy     *flow.Policy
}

// Watermarks sets how a source derives event-time progress: Bounded(0) unless
// said.
func Watermarks(s watermark.Strategy) SourceOption {
	return func(o *sourceSettings) { o.watermarks = s }
}

// From starts at the first record not older than at, by the time of the Kafka
// record, when nothing was committed yet, instead of at the first of all.
func From(at time.Time) SourceOption { return func(o *sourceSettings) { o.from = at } }

// OnError sets the policy of a source and of what follows it, up to the next
// Stream.OnError.
func OnError(p ErrorPolicy) SourceOption {
	return func(o *sourceSettings) { o.policy = &p.p }
}
