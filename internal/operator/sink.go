package operator

import (
	"fmt"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/serde"
)

// A Sink encodes records and writes them to a topic.
type Sink[K, V any] struct {
	Node        int32
	Policy      *flow.Policy
	Key         serde.Serde[K]
	Value       serde.Serde[V]
	Partitioner flow.Partitioner
	Topic       *flow.Topic
	Internal    bool // a repartition topic: records carry their watermark

	buf []byte
}

// recordOverhead is more than a record and its batch cost besides key, value
// and headers, in bytes.
const recordOverhead = 128

// Push writes one record.
func (s *Sink[K, V]) Push(c *flow.Context, k K, v V) {
	s.buf = s.buf[:0]
	var key, value []byte
	if !c.NullKey {
		var err error
		if s.buf, err = s.Key.Append(s.buf, k); err != nil {
			c.Reject(s.Policy, s.Node, flow.Failed, fmt.Errorf("cannot encode the key for topic %s: %w", s.Topic.Name, err), 1)
			return
		}
		key = s.buf[:len(s.buf):len(s.buf)]
	}
	if !c.Deleted {
		b, err := s.Value.Append(s.buf, v)
		if err != nil {
			c.Reject(s.Policy, s.Node, flow.Failed, fmt.Errorf("cannot encode the value for topic %s: %w", s.Topic.Name, err), 1)
			return
		}
		value = b[len(s.buf):]
		if key != nil {
			key = b[:len(s.buf)] // b may have moved
		}
		s.buf = b
		if value == nil {
			value = []byte{}
		}
	}
	size := len(key) + len(value) + recordOverhead
	for i := range c.Headers {
		size += len(c.Headers[i].Key) + len(c.Headers[i].Value) + 8
	}
	if s.Topic.MaxBytes > 0 && size > int(s.Topic.MaxBytes) {
		c.Reject(s.Policy, s.Node, flow.TooLarge, fmt.Errorf("the record has %d bytes and topic %s takes at most %d "+
			"(max.message.bytes)", size, s.Topic.Name, s.Topic.MaxBytes), 1)
		return
	}
	s.send(c, key, value)
}

func (s *Sink[K, V]) send(c *flow.Context, key, value []byte) {
	partition := c.Task.Partition % s.Topic.Partitions
	if key != nil {
		partition = s.Partitioner.Place(key, s.Topic.Partitions)
	}
	if s.Internal {
		c.Task.Out.SendCarried(s.Topic, partition, key, value, c.Time, c.Carried, c.Headers)
		return
	}
	c.Task.Out.Send(s.Topic, partition, key, value, c.Time, c.Headers)
}
