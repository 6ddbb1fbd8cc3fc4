// Package flow is what passes through a task's operators: one record at a time,
// typed, by direct calls.
package flow

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/window"
)

// A Push hands one record to the next operator. Key and value are arguments;
// everything else about the record is in the Context. A value is the zero value
// when the context says that the record is a tombstone.
type Push[K, V any] func(c *Context, k K, v V)

// A Context is the record that is being processed, apart from its key and
// value. There is one per task. An operator that changes a field for those
// downstream puts it back when they have returned.
type Context struct {
	Time    int64              // event time, ms
	Carried int64              // the watermark of the record's own source partition before it
	Fired   int64              // the task's watermark up to which all operators have closed what was due
	Window  window.Span        // zero unless downstream of a windowed aggregation
	Headers []kgo.RecordHeader // shared: copy before changing
	Deleted bool               // the record is a tombstone
	NullKey bool               // the record has no key; the typed one is the zero value
	RawKey  []byte             // the key as state and internal topics encode it, nil if not at hand
	Source  *kgo.Record        // the record read from Kafka; nil in closings, updates and timers

	// Err is the failure that ends the task. Operators that loop look at it.
	Err error

	// Operator is the node whose user function runs, for messages about panics.
	Operator int32

	Task *Task
}

// Drop counts a record that goes no further at node, for reason.
func (c *Context) Drop(node int32, r Reason) { c.Task.Drops[DropKey{node, r}]++ }

// Fail ends the task with err, unless it has failed before.
func (c *Context) Fail(err error) {
	if c.Err == nil {
		c.Err = err
	}
}

// Behind is a watermark held back by hold ms.
func Behind(watermark, hold int64) int64 {
	if watermark == math.MinInt64 || watermark == math.MaxInt64 || watermark < math.MinInt64+hold {
		return watermark
	}
	return watermark - hold
}

// Where says which record is being processed, for messages.
func (c *Context) Where() string {
	if r := c.Source; r != nil {
		return fmt.Sprintf("%s, partition %d, offset %d, key %s", r.Topic, r.Partition, r.Offset, printable(r.Key))
	}
	return fmt.Sprintf("a result of the task, event time %d ms", c.Time)
}

// printable shortens a key for messages.
func printable(key []byte) string {
	const most = 64
	if key == nil {
		return "none"
	}
	if len(key) > most {
		return fmt.Sprintf("%q...", key[:most])
	}
	return fmt.Sprintf("%q", key)
}

// A Reason is why a record was dropped.
type Reason uint8

// The reasons.
const (
	Late        Reason = iota // all its windows, or one of them, were closed
	NullKey                   // an operator needs a key
	NullValue                 // an operator needs a value
	Undecodable               // its bytes are not what the serde expects
	Failed                    // a user function failed
	TooLarge                  // the topic it was to go to does not take it
	Future                    // further ahead of the clock than MaxAhead
	NoTime                    // its value gives no event time
)

var reasons = [...]string{"late", "null_key", "null_value", "undecodable", "failed", "too_large", "future", "no_time"}

// String is the reason as metrics spell it.
func (r Reason) String() string { return reasons[r] }

// A DropKey is what drops are counted by.
type DropKey struct {
	Node   int32
	Reason Reason
}
