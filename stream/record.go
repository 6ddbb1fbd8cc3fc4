package stream

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/window"
)

// A Record is one element of a stream.
type Record[K, V any] struct {
	Key     K
	Value   V           // zero in a tombstone
	Deleted bool        // a tombstone: the key has no value any more
	Time    time.Time   // event time: UTC, whole milliseconds
	Window  window.Span // set downstream of a windowed aggregation, up to the next topic
	Headers Headers
	Origin  Origin // zero in results of windows, updates and timers
}

// An Origin is where in Kafka the record stood that is being processed.
type Origin struct {
	Topic     string
	Partition int32
	Offset    int64
}

// A Header is one header: a key, and a value that may be nil.
type Header = kgo.RecordHeader

// Headers are a record's headers, in order; keys may repeat. Values must not be
// changed, nor kept after the function that saw them has returned.
type Headers []Header

// Get returns the last value under key, nil if there is none.
func (h Headers) Get(key string) []byte {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].Key == key {
			return h[i].Value
		}
	}
	return nil
}

// With returns h with a header appended; h itself is left alone.
func (h Headers) With(key string, value []byte) Headers {
	return append(h[:len(h):len(h)], Header{Key: key, Value: value})
}

// WindowKey is a key function for SelectKeyRecord that keeps the window in the
// key.
func WindowKey[K, V any](r Record[K, V]) window.Key[K] {
	return window.Key[K]{Key: r.Key, Span: r.Window}
}

// Identity returns its argument; GroupBy("by-word", stream.Identity) groups by
// value.
func Identity[T any](v T) T { return v }

// recordOf is the record at hand as a user's function sees it.
func recordOf[K, V any](c *flow.Context, k K, v V) Record[K, V] {
	r := Record[K, V]{
		Key: k, Value: v, Deleted: c.Deleted, Time: time.UnixMilli(c.Time).UTC(), Window: c.Window, Headers: c.Headers,
	}
	if s := c.Source; s != nil {
		r.Origin = Origin{s.Topic, s.Partition, s.Offset}
	}
	return r
}
