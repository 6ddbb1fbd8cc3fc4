package streamtest

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
)

// A broker is as much of Kafka as tasks need: topics, transactions and committed
// offsets, in memory.
type broker struct {
	describe  func(name string) *flow.Topic // nil if there is no such topic
	topics    map[string]*topicLog
	committed map[place]committed
	written   int64 // records so far, over all topics
}

// A place is one partition of a topic.
type place struct {
	topic     string
	partition int32
}

// committed is what the group committed for a partition.
type committed struct {
	offset   int64
	metadata string
}

type topicLog struct {
	*flow.Topic
	partitions []*partitionLog
}

// A partitionLog is the log of one partition. Records of transactions take their
// offsets when they are written, and can be read when their transaction and all
// that began before it have ended; its end is marked by a record of its own.
type partitionLog struct {
	entries []entry // by offset
	start   int64   // the first offset that has not been deleted
	open    map[*transaction]int64
}

type entry struct {
	rec   *kgo.Record
	txn   *transaction // nil outside transactions
	order int64        // among the records of all topics
}

func newBroker(describe func(string) *flow.Topic) *broker {
	return &broker{describe: describe, topics: map[string]*topicLog{}, committed: map[place]committed{}}
}

// topic returns a topic, and makes it when it is first used.
func (b *broker) topic(name string) (*topicLog, error) {
	if t := b.topics[name]; t != nil {
		return t, nil
	}
	d := b.describe(name)
	if d == nil {
		return nil, fmt.Errorf("topic %s does not exist", name)
	}
	t := &topicLog{Topic: d}
	for range d.Partitions {
		t.partitions = append(t.partitions, &partitionLog{open: map[*transaction]int64{}})
	}
	b.topics[name] = t
	return t, nil
}

// log returns a partition of a topic that exists.
func (b *broker) log(topic string, partition int32) *partitionLog {
	t, err := b.topic(topic)
	if err != nil {
		return &partitionLog{}
	}
	return t.partitions[partition]
}

// append writes a record, and returns the offset after it.
func (b *broker) append(p *partitionLog, r *kgo.Record, txn *transaction) int64 {
	r.Offset = int64(len(p.entries))
	b.written++
	p.entries = append(p.entries, entry{r, txn, b.written})
	return r.Offset + 1
}

// end is the partition's high watermark.
func (p *partitionLog) end() int64 { return int64(len(p.entries)) }

// stable is the offset up to which a read_committed reader can read.
func (p *partitionLog) stable() int64 {
	end := p.end()
	for _, first := range p.open {
		end = min(end, first)
	}
	return end
}

// read returns what a read_committed reader gets from an offset on, markers of
// transactions included.
func (p *partitionLog) read(from int64) []*kgo.Record {
	var recs []*kgo.Record
	for end := p.stable(); from < end; from++ {
		if e := p.entries[from]; e.txn == nil || e.txn.committed {
			recs = append(recs, e.rec)
		}
	}
	return recs
}

// since returns the offset of the first record that is not older than at.
func (p *partitionLog) since(at time.Time) int64 {
	for i, e := range p.entries {
		if !e.rec.Timestamp.Before(at) {
			return int64(i)
		}
	}
	return p.end()
}

// A transaction is what one producer writes between two commits.
type transaction struct {
	wrote     map[place]*partitionLog
	committed bool
}

// finish ends a transaction, and marks the ends in the partitions that it wrote.
func (b *broker) finish(txn *transaction, commit bool) {
	txn.committed = commit
	marker := kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Transactional: true, Control: true})
	for at, p := range txn.wrote {
		delete(p.open, txn)
		b.append(p, &kgo.Record{Topic: at.topic, Partition: at.partition, Attrs: marker, Timestamp: time.UnixMilli(0)}, nil)
	}
}

// clone keeps nil apart from empty, as Kafka does.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
