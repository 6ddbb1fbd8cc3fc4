package streamtest

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/operator"
	"github.com/weirstream/weir/watermark"
)

// A producer is one worker's transactional producer. It implements task.Output.
type producer struct {
	broker *broker
	txn    *transaction // nil if nothing was written since the last end
	acked  map[place]int64
	failed error // of a write; the transaction must not be committed
}

func newProducer(b *broker) *producer { return &producer{broker: b, acked: map[place]int64{}} }

// Topic implements flow.Output.
func (p *producer) Topic(name string) (*flow.Topic, error) {
	t, err := p.broker.topic(name)
	if err != nil {
		return nil, err
	}
	return t.Topic, nil
}

// Send implements flow.Output.
func (p *producer) Send(t *flow.Topic, partition int32, key, value []byte, ms int64, headers []kgo.RecordHeader) {
	if partition < 0 || partition >= t.Partitions {
		p.failed = fmt.Errorf("topic %s has no partition %d", t.Name, partition)
		return
	}
	if p.txn == nil {
		p.txn = &transaction{wrote: map[place]*partitionLog{}}
	}
	at, log := place{t.Name, partition}, p.broker.log(t.Name, partition)
	if p.txn.wrote[at] == nil {
		p.txn.wrote[at] = log
		log.open[p.txn] = log.end()
	}
	p.acked[at] = p.broker.append(log, &kgo.Record{
		Topic: t.Name, Partition: partition, Key: clone(key), Value: clone(value), Timestamp: time.UnixMilli(ms), Headers: headers,
	}, p.txn)
}

// SendCarried implements flow.Output.
func (p *producer) SendCarried(t *flow.Topic, partition int32, key, value []byte, ms, carried int64, headers []kgo.RecordHeader) {
	all := append([]kgo.RecordHeader{{Key: operator.CarriedHeader, Value: watermark.AppendCarried(nil, ms, carried)}}, headers...)
	p.Send(t, partition, key, value, watermark.KafkaTime(ms), all)
}

// End implements task.Output.
func (p *producer) End(t *flow.Topic, partition int32) int64 {
	if end, ok := p.acked[place{t.Name, partition}]; ok {
		return end
	}
	return -1
}

// abort ends the transaction, if there is one, without a trace.
func (p *producer) abort() {
	if p.txn != nil {
		p.broker.finish(p.txn, false)
	}
	p.txn = nil
}

// A commitLog is the producer's side of the commit protocol: it implements
// checkpoint.Log.
type commitLog struct {
	*producer
	offsets []checkpoint.Offset
}

// Flush implements checkpoint.Log.
func (l *commitLog) Flush(context.Context) error { return l.failed }

// CommitOffsets implements checkpoint.Log.
func (l *commitLog) CommitOffsets(_ context.Context, offsets []checkpoint.Offset) error {
	l.offsets = offsets
	return nil
}

// End implements checkpoint.Log.
func (l *commitLog) End(context.Context) error {
	for _, o := range l.offsets {
		text, err := o.Meta.Encode()
		if err != nil {
			return err
		}
		l.broker.committed[place{o.Topic, o.Partition}] = committed{o.Offset, text}
	}
	if l.txn != nil {
		l.broker.finish(l.txn, true)
	}
	l.txn = nil
	return nil
}
