package streamtest

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/stream"
)

// Send writes one record to a topic that the topology reads, on the partition
// that its key belongs to, and lets everything follow from it.
func (d *Driver) Send[K, V any](t stream.Topic[K, V], k K, v V, at time.Time) {
	d.t.Helper()
	d.SendRecord(t, stream.Record[K, V]{Key: k, Value: v, Time: at})
}

// SendRecord is Send for a record with headers, a tombstone, or one that goes
// to the partition of its Origin. A zero Origin leaves that to the key; name the
// topic in it to mean partition 0.
func (d *Driver) SendRecord[K, V any](t stream.Topic[K, V], r stream.Record[K, V]) {
	d.t.Helper()
	key, err := t.Key.Append([]byte{}, r.Key)
	if err != nil {
		d.t.Fatalf("streamtest: cannot encode the key for topic %s: %v", t.Name, err)
	}
	var value []byte
	if !r.Deleted {
		if value, err = t.Value.Append([]byte{}, r.Value); err != nil {
			d.t.Fatalf("streamtest: cannot encode the value for topic %s: %v", t.Name, err)
		}
	}
	partition := r.Origin.Partition
	if r.Origin == (stream.Origin{}) {
		partition = flow.Partitioner(t.Partitioner).Place(key, d.opts.topic(t.Name).Partitions)
	}
	d.send(&kgo.Record{Topic: t.Name, Partition: partition, Key: key, Value: value, Timestamp: r.Time, Headers: r.Headers})
}

// SendBytes is Send for bytes as another program may have written them. A nil
// key is no key, a nil value a tombstone.
func (d *Driver) SendBytes(topic string, partition int, key, value []byte, at time.Time) {
	d.t.Helper()
	d.send(&kgo.Record{Topic: topic, Partition: int32(partition), Key: clone(key), Value: clone(value), Timestamp: at})
}

func (d *Driver) send(r *kgo.Record) {
	d.t.Helper()
	if d.layout.source(r.Topic) == nil {
		d.t.Fatalf("streamtest: the topology does not read topic %s", r.Topic)
	}
	topic, err := d.broker.topic(r.Topic)
	if err != nil {
		d.t.Fatalf("streamtest: %v", err)
	}
	if r.Partition < 0 || r.Partition >= topic.Topic.Partitions {
		d.t.Fatalf("streamtest: topic %s has %d partitions, and no number %d; see Partitions", r.Topic, topic.Topic.Partitions, r.Partition)
	}
	r.Timestamp = time.UnixMilli(r.Timestamp.UnixMilli())
	d.broker.append(topic.partitions[r.Partition], r, nil)
	d.stepped()
}
