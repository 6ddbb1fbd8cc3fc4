package streamtest

import (
	"cmp"
	"slices"

	"github.com/weirstream/weir/stream"
)

// Received commits, and returns the records that were written to t since it was
// last called for t: per partition in their order, and across partitions in the
// order in which they were written. Their Origin says where they stand.
func (d *Driver) Received[K, V any](t stream.Topic[K, V]) []stream.Record[K, V] {
	d.t.Helper()
	d.commit()
	var list []stream.Record[K, V]
	for _, e := range d.unread(t.Name) {
		r := stream.Record[K, V]{
			Deleted: e.rec.Value == nil, Time: e.rec.Timestamp.UTC(), Headers: e.rec.Headers,
			Origin: stream.Origin{Topic: e.rec.Topic, Partition: e.rec.Partition, Offset: e.rec.Offset},
		}
		var err error
		if e.rec.Key != nil {
			if r.Key, err = t.Key.Decode(e.rec.Key); err != nil {
				d.t.Fatalf("streamtest: %s, partition %d, offset %d: cannot decode the key: %v", e.rec.Topic, e.rec.Partition, e.rec.Offset, err)
			}
		}
		if !r.Deleted {
			if r.Value, err = t.Value.Decode(e.rec.Value); err != nil {
				d.t.Fatalf("streamtest: %s, partition %d, offset %d: cannot decode the value: %v", e.rec.Topic, e.rec.Partition, e.rec.Offset, err)
			}
		}
		list = append(list, r)
	}
	return list
}

// Values is Received for those who need nothing but the values. A tombstone
// counts as a zero value.
func (d *Driver) Values[K, V any](t stream.Topic[K, V]) []V {
	d.t.Helper()
	var list []V
	for _, r := range d.Received(t) {
		list = append(list, r.Value)
	}
	return list
}

// unread returns the committed records of a topic that were not returned
// before.
func (d *Driver) unread(topic string) []entry {
	t, err := d.broker.topic(topic)
	if err != nil {
		d.t.Fatalf("streamtest: %v", err)
	}
	var list []entry
	for _, p := range t.partitions {
		for _, e := range p.entries[:p.stable()] {
			committed := e.txn == nil || e.txn.committed
			if committed && !e.rec.Attrs.IsControl() && e.order > d.received[topic] {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.order, b.order) })
	if n := len(list); n > 0 {
		d.received[topic] = list[n-1].order
	}
	return list
}
