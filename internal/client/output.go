package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/operator"
	"github.com/weirstream/weir/watermark"
)

// Outputs is what the tasks of a worker write through.
type Outputs struct{ c *Client }

// Outputs returns what tasks write through.
func (c *Client) Outputs() *Outputs { return &Outputs{c} }

// output is the producer's side of a client: the records of one interval. They,
// and the bytes they are made of, are used again in the next.
type output struct {
	c       *Client
	open    bool // a transaction has begun
	bytes   arena
	records slab
	headers headerSlab
	sent    int64 // records of this interval
	final   int64 // records committed and not taken yet

	trackers map[*flow.Topic][]*tracker // by partition
	tracked  map[string][]*tracker      // the same by name

	mu  sync.Mutex // guards what acknowledgements write
	err error      // the first failure
}

// A tracker notes how far a partition that the worker writes has come.
type tracker struct {
	end     atomic.Int64 // written by acknowledgements, one after the other
	promise func(*kgo.Record, error)
}

func (o *output) init(c *Client) {
	o.c = c
	o.trackers, o.tracked = map[*flow.Topic][]*tracker{}, map[string][]*tracker{}
}

// Topic implements flow.Output.
func (o *Outputs) Topic(name string) (*flow.Topic, error) { return o.c.cfg.Catalog.Topic(name) }

// Send implements flow.Output.
func (o *Outputs) Send(t *flow.Topic, partition int32, key, value []byte, ms int64, headers []kgo.RecordHeader) {
	o.c.out.send(t, partition, key, value, ms, headers)
}

// SendCarried implements flow.Output.
func (o *Outputs) SendCarried(t *flow.Topic, partition int32, key, value []byte, ms, carried int64, headers []kgo.RecordHeader) {
	out := &o.c.out
	var buf [24]byte
	h := out.headers.take(1 + len(headers))
	h[0] = kgo.RecordHeader{Key: operator.CarriedHeader, Value: out.bytes.copy(watermark.AppendCarried(buf[:0], ms, carried))}
	copy(h[1:], headers)
	out.send(t, partition, key, value, watermark.KafkaTime(ms), h)
}

// End implements task.Output.
func (o *Outputs) End(t *flow.Topic, partition int32) int64 {
	return o.c.out.tracker(t, partition).end.Load()
}

func (o *output) send(t *flow.Topic, partition int32, key, value []byte, ms int64, headers []kgo.RecordHeader) {
	if !o.open {
		o.begin()
	}
	r := o.records.next()
	*r = kgo.Record{
		Topic: t.Name, Partition: partition, Key: o.bytes.copy(key), Value: o.bytes.copy(value),
		Headers: headers, Timestamp: time.UnixMilli(ms),
	}
	o.sent++
	o.c.kgo.Produce(o.c.cfg.Context, r, o.tracker(t, partition).promise)
}

func (o *output) begin() {
	o.open = true
	if o.c.cfg.Transactional {
		if err := o.c.kgo.BeginTransaction(); err != nil {
			o.fail(fmt.Errorf("cannot begin a transaction: %w", err))
		}
	}
}

func (o *output) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}

// tracker returns that of a partition.
func (o *output) tracker(t *flow.Topic, partition int32) *tracker {
	trs, ok := o.trackers[t]
	if !ok || int(partition) >= len(trs) {
		trs = o.track(t.Name, max(t.Partitions, partition+1))
		o.trackers[t] = trs
	}
	return trs[partition]
}

// track makes the trackers of a topic, as far as they are missing.
func (o *output) track(topic string, partitions int32) []*tracker {
	trs := o.tracked[topic]
	for len(trs) < int(partitions) {
		tr := &tracker{}
		tr.end.Store(-1)
		tr.promise = func(r *kgo.Record, err error) {
			if err != nil {
				o.fail(fmt.Errorf("%s, partition %d, key %.64q, %d bytes: cannot be written: %w",
					r.Topic, r.Partition, r.Key, len(r.Key)+len(r.Value), err))
				return
			}
			tr.end.Store(max(tr.end.Load(), r.Offset+1))
		}
		trs = append(trs, tr)
	}
	o.tracked[topic] = trs
	return trs
}

// Buffered is about the bytes written in this interval.
func (c *Client) Buffered() int64 { return c.out.bytes.used }

// Sent is the number of records written in this interval.
func (c *Client) Sent() int64 { return c.out.sent }

// TakeCommitted returns how many records were committed since it was last
// called.
func (c *Client) TakeCommitted() int64 {
	n := c.out.final
	c.out.final = 0
	return n
}

// Err is the first failure of a write in this interval.
func (c *Client) Err() error {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.err
}

// Flush implements checkpoint.Log.
func (c *Client) Flush(ctx context.Context) error {
	if !c.out.open {
		return nil
	}
	return errors.Join(c.kgo.Flush(ctx), c.Err())
}

// done forgets the interval: everything was acknowledged or dropped.
func (o *output) done() {
	o.open, o.sent = false, 0
	o.bytes.reset()
	o.records.reset()
	o.headers.reset()
	o.mu.Lock()
	o.err = nil
	o.mu.Unlock()
}
