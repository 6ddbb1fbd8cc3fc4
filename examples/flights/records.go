package flights

import "github.com/twmb/franz-go/pkg/kgo"

// Records are the flights as records of the job's source, on the partitions that
// their keys belong to.
func (j Job) Records(list []Flight, partitions int32, key func(Flight) string) ([]*kgo.Record, error) {
	topic := j.Flights()
	place := kgo.StickyKeyPartitioner(nil).ForTopic(topic.Name)
	records := make([]*kgo.Record, len(list))
	for i, f := range list {
		k, err := topic.Key.Append(nil, key(f))
		if err != nil {
			return nil, err
		}
		v, err := topic.Value.Append(nil, f)
		if err != nil {
			return nil, err
		}
		r := &kgo.Record{Topic: topic.Name, Key: k, Value: v, Timestamp: f.Departed()}
		r.Partition = int32(place.Partition(r, int(partitions)))
		records[i] = r
	}
	return records, nil
}
