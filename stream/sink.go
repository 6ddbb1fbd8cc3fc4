package stream

import (
	"errors"
	"fmt"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/operator"
	"github.com/weirstream/weir/serde"
)

var (
	errOtherTopology = errors.New("the streams belong to different topologies")
	errWindowLost    = errors.New("the results of windows would be written without their windows: put the window in the key " +
		"(SelectKeyRecord(stream.WindowKey)) or in the value (MapRecord)")
	errKeyChanged = errors.New("the key was changed by SelectKey, so equal keys may be on different partitions: " +
		"put Repartition or GroupBy in between, which name the topic that brings them together")
)

// To writes the stream to t. Build refuses to write windowed results whose
// window no function has looked at: put it in the key (WindowKey) or the value.
func (s Stream[K, V]) To(t Topic[K, V]) {
	n := s.h.top.graph.Add(graph.Sink, "sink", t.Name, s.h.at.node)
	n.Topic, n.Partitioner = t.Name, t.Partitioner.flow()
	n.Check = func(n *graph.Node) error { return errors.Join(checkTopic(t, sourceSettings{}), checkWindow(n)) }
	attach(s.h.at, n, func(task *flow.Task) (flow.Push[K, V], error) { return openSink(task, n, t) })
}

func checkWindow(n *graph.Node) error {
	if n.WindowLost {
		return errWindowLost
	}
	return nil
}

func openSink[K, V any](task *flow.Task, n *graph.Node, t Topic[K, V]) (flow.Push[K, V], error) {
	topic, err := task.Out.Topic(t.Name)
	if err != nil {
		return nil, fmt.Errorf("sink %s: %w", n.Name, err)
	}
	sink := &operator.Sink[K, V]{
		Node: int32(n.ID), Policy: n.Policy, Key: t.Key, Value: t.Value, Partitioner: t.Partitioner.flow(), Topic: topic,
	}
	return sink.Push, nil
}

// Route writes each record to the topic that to returns. The topics must exist;
// a record for one that does not meets the stream's error policy.
func (s Stream[K, V]) Route(to func(Record[K, V]) Topic[K, V]) {
	n := s.h.top.graph.Add(graph.Sink, "route", "", s.h.at.node)
	n.WindowLost = false
	attach(s.h.at, n, func(task *flow.Task) (flow.Push[K, V], error) {
		sinks := map[string]flow.Push[K, V]{}
		return func(c *flow.Context, k K, v V) {
			c.Operator = int32(n.ID)
			t := to(recordOf(c, k, v))
			push, ok := sinks[t.Name]
			if !ok {
				var err error
				if err = checkTopic(t, sourceSettings{}); err == nil {
					push, err = openSink(task, n, t)
				}
				if err != nil {
					c.Reject(n.Policy, int32(n.ID), flow.Failed, err, 1)
					return
				}
				sinks[t.Name] = push
			}
			push(c, k, v)
		}, nil
	})
}

// Repartition sends the records through the topic called name to the task that
// owns their key. Event time, watermark and headers go along.
func (s Stream[K, V]) Repartition(name string, opts ...TopicOption) Stream[K, V] {
	return Stream[K, V]{repartition(s.h, name, opts)}
}

func repartition[K, V any](s handle[K, V], name string, opts []TopicOption) handle[K, V] {
	var o topicSettings
	for _, opt := range opts {
		opt(&o)
	}
	top := s.top
	out := top.graph.Add(graph.RepartitionSink, "repartition", name, s.at.node)
	in := top.graph.Add(graph.RepartitionSource, "repartition-source", name)
	out.Topic, out.Partitions, out.Twin = name, int32(o.partitions), in
	in.Topic, in.Partitions, in.Twin = name, int32(o.partitions), out
	in.Policy, in.Windowed = out.Policy, out.Windowed
	// Windows end at a topic: the records that come back know nothing of them.
	out.Check = func(n *graph.Node) error {
		key, kerr := serdeOf[K](top)
		if kerr == nil {
			kerr = serde.CheckKey(key)
		}
		_, verr := serdeOf[V](top)
		if o.partitions < 0 {
			verr = errors.Join(verr, fmt.Errorf("%d partitions", o.partitions))
		}
		return errors.Join(kerr, verr, checkWindow(n))
	}
	attach(s.at, out, func(task *flow.Task) (flow.Push[K, V], error) {
		topic, err := task.Out.Topic(task.App + "-" + name + "-repartition")
		if err != nil {
			return nil, fmt.Errorf("repartition %s: %w", name, err)
		}
		key, _ := serdeOf[K](top)
		value, _ := serdeOf[V](top)
		sink := &operator.Sink[K, V]{Node: int32(out.ID), Policy: out.Policy, Key: key, Value: value, Topic: topic, Internal: true}
		return sink.Push, nil
	})
	back := &outlet[K, V]{node: in}
	in.Reader = &graph.Reader{Open: func(task *flow.Task) (flow.Source, error) {
		next, err := back.build(task)
		if err != nil {
			return nil, err
		}
		key, _ := serdeOf[K](top)
		value, _ := serdeOf[V](top)
		return &operator.RepartitionSource[K, V]{Node: int32(in.ID), Key: key, Value: value, Raw: sameBytes(top, key), Next: next}, nil
	}}
	return handle[K, V]{top: top, at: back}
}
