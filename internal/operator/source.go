package operator

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

// A Source decodes the records of a topic that the application reads.
type Source[K, V any] struct {
	Node     int32
	Policy   *flow.Policy
	Key      serde.Serde[K]
	Value    serde.Serde[V]
	Time     func(V) time.Time // nil: the Kafka record's
	Strategy watermark.Strategy
	Raw      bool // a key's bytes are also what state encodes it to
	Next     flow.Push[K, V]
}

// Read implements flow.Source.
func (s *Source[K, V]) Read(c *flow.Context, rec *kgo.Record) (int64, bool) {
	ms := rec.Timestamp.UnixMilli()
	begin(c, rec, ms)
	k, v, ok := decode(c, s.Node, s.Policy, rec, s.Key, s.Value)
	if !ok {
		return ms, false
	}
	if s.Time != nil && !c.Deleted {
		at, ok := call(c, s.Policy, s.Node, s.Time, v)
		if !ok {
			return ms, false
		}
		if at.IsZero() {
			c.Reject(s.Policy, s.Node, flow.NoTime, errors.New("its value gives no event time"), 1)
			return ms, false
		}
		ms = at.UnixMilli()
		c.Time = ms
	}
	if ms == math.MaxInt64 || ms == math.MinInt64 {
		c.Reject(s.Policy, s.Node, flow.Future, errors.New("its event time is an end of time"), 1)
		return ms, false
	}
	if s.Strategy.MaxAheadMs() > 0 && ms-c.Task.Now() > s.Strategy.MaxAheadMs() {
		c.Reject(s.Policy, s.Node, flow.Future, fmt.Errorf("its event time %s is further ahead of the clock than MaxAhead, %v",
			time.UnixMilli(ms).UTC().Format(time.RFC3339Nano), time.Duration(s.Strategy.MaxAheadMs())*time.Millisecond), 1)
		return ms, false
	}
	if s.Raw {
		c.RawKey = rec.Key
	}
	s.Next(c, k, v)
	return ms, true
}

// begin readies the context for a record read from Kafka.
func begin(c *flow.Context, rec *kgo.Record, ms int64) {
	c.Time = ms
	c.Window = window.Span{}
	c.Headers = rec.Headers
	c.Deleted = rec.Value == nil
	c.NullKey = rec.Key == nil
	c.RawKey = nil
	c.Source = rec
}

// decode decodes key and value, or applies the policy.
func decode[K, V any](
	c *flow.Context, node int32, p *flow.Policy, rec *kgo.Record, key serde.Serde[K], value serde.Serde[V],
) (k K, v V, ok bool) {
	var err error
	if !c.NullKey {
		if k, err = key.Decode(rec.Key); err != nil {
			c.Reject(p, node, flow.Undecodable, fmt.Errorf("cannot decode the key: %w", err), 1)
			return k, v, false
		}
	}
	if !c.Deleted {
		if v, err = value.Decode(rec.Value); err != nil {
			c.Reject(p, node, flow.Undecodable, fmt.Errorf("cannot decode the value: %w", err), 1)
			return k, v, false
		}
	}
	return k, v, true
}

// A RepartitionSource decodes the records of a repartition topic. They carry
// the watermark of the partition that they came from in their first header.
type RepartitionSource[K, V any] struct {
	Node  int32
	Key   serde.Serde[K]
	Value serde.Serde[V]
	Raw   bool
	Next  flow.Push[K, V]
}

var stop = &flow.Policy{}

// CarriedHeader is the key of the header that records of a repartition topic
// carry their watermark in.
const CarriedHeader = "w"

// Read implements flow.Source. A bad record on an internal topic always stops
// the app.
func (s *RepartitionSource[K, V]) Read(c *flow.Context, rec *kgo.Record) (int64, bool) {
	begin(c, rec, rec.Timestamp.UnixMilli())
	if len(rec.Headers) == 0 || rec.Headers[0].Key != CarriedHeader {
		c.Reject(stop, s.Node, flow.Undecodable, errors.New("the record was not written by this application"), 1)
		return 0, false
	}
	ms, carried, err := watermark.ParseCarried(rec.Headers[0].Value, c.Time)
	if err != nil {
		c.Reject(stop, s.Node, flow.Undecodable, err, 1)
		return 0, false
	}
	c.Time, c.Carried, c.Headers = ms, carried, rec.Headers[1:]
	k, v, ok := decode(c, s.Node, stop, rec, s.Key, s.Value)
	if !ok {
		return 0, false
	}
	if s.Raw {
		c.RawKey = rec.Key
	}
	s.Next(c, k, v)
	return ms, true
}
