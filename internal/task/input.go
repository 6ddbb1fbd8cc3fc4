package task

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/watermark"
)

// An Input is one topic partition that a task reads.
type Input struct {
	Topic     string
	Partition int32
	Internal  bool // a repartition topic

	source   flow.Source
	strategy watermark.Strategy
	own      *watermark.Partition // of a source topic: what its records say
	up       *watermark.Upstreams // of a repartition topic: what its writers say
	idle     *watermark.Idleness

	queue   []*kgo.Record
	head    int
	next    int64 // offset of the next record to process: what is committed
	fetched int64 // offset of the next record to queue
	end     int64 // the partition's end as far as known
	last    int64 // where a bounded run ends; -1 in an unbounded one
	got     bool  // records since idleness was last looked at
	done    bool  // a bounded run has read it to its end
}

// Position is the offset of the next record to process.
func (in *Input) Position() int64 { return in.next }

// End is the partition's end offset as last heard.
func (in *Input) End() int64 { return in.end }

// Queued is the number of records waiting.
func (in *Input) Queued() int { return len(in.queue) - in.head }

// Watermark is the input's watermark.
func (in *Input) Watermark() int64 {
	if in.own != nil {
		return in.own.Watermark()
	}
	return in.up.Watermark()
}

// Idle reports whether the input was proved to be idle.
func (in *Input) Idle() bool {
	if in.own != nil {
		return in.idle.Idle()
	}
	return in.up.Idle()
}

// add queues records. Those that were queued before are ignored: a fetch that
// was under way when offsets were set may still deliver them.
func (in *Input) add(recs []*kgo.Record, end int64) {
	if in.head == len(in.queue) {
		in.queue, in.head = in.queue[:0], 0
	}
	for _, r := range recs {
		if r.Offset < in.fetched {
			continue
		}
		in.queue = append(in.queue, r)
		in.fetched = r.Offset + 1
	}
	in.end = max(in.end, end, in.fetched)
}

func (in *Input) peek() *kgo.Record { return in.queue[in.head] }

func (in *Input) pop() *kgo.Record {
	r := in.queue[in.head]
	in.queue[in.head] = nil
	in.head++
	in.next = r.Offset + 1
	return r
}

// waits reports whether records are still to be had that are not queued yet.
func (in *Input) waits() bool { return in.Queued() == 0 && in.fetched < in.end && !in.done }

// ControlHeader is the key of the one header of a control record.
const ControlHeader = "weir.control"

func isControl(r *kgo.Record) bool {
	return len(r.Headers) == 1 && r.Headers[0].Key == ControlHeader
}

// hear takes a control record into account.
func (in *Input) hear(r *kgo.Record, tasks int32) error {
	ps, err := watermark.ParseControl(r.Value)
	if err == nil {
		for _, p := range ps {
			if err = in.up.Hear(p); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s, partition %d, offset %d: control record of %d upstream tasks: %w", r.Topic, r.Partition, r.Offset, tasks, err)
	}
	return nil
}

func newInput(n *graph.Node, topic string, partition int32) *Input {
	return &Input{
		Topic: topic, Partition: partition, Internal: n.Kind == graph.RepartitionSource, strategy: n.Reader.Strategy, last: -1,
	}
}
