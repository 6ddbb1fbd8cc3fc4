package flights

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// CreateTopics creates those of the job's topics that do not exist, with so many
// partitions. Records keep the times of 2013: no broker may delete them for
// their age.
func (j Job) CreateTopics(ctx context.Context, admin *kadm.Client, partitions int32) error {
	forever := "-1"
	made, err := admin.CreateTopics(ctx, partitions, -1, map[string]*string{"retention.ms": &forever}, j.Topics()...)
	if err != nil {
		return fmt.Errorf("cannot create topics: %w", err)
	}
	for _, t := range made.Sorted() {
		if t.Err != nil && !errors.Is(t.Err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("cannot create topic %s: %w", t.Topic, t.Err)
		}
	}
	return nil
}

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

// origin is the header of the first record of a partition that says what was
// loaded.
const origin = "loaded-from"

// Load writes the records to the job's source, in their order, and returns how
// many it wrote. It goes on where a former load of the same data was
// interrupted, and does nothing if it was not. data names the data: others in
// the topic are an error.
func (j Job) Load(ctx context.Context, client *kgo.Client, records []*kgo.Record, data string) (int, error) {
	topic := j.Flights().Name
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("topic %s: cannot tell what it holds: %w", topic, err)
	}
	seen := map[int32]int64{} // records of each partition
	var left []*kgo.Record
	for _, r := range records {
		end, ok := ends.Lookup(topic, r.Partition)
		if !ok {
			return 0, fmt.Errorf("topic %s has no partition %d: was it made with fewer?", topic, r.Partition)
		}
		n := seen[r.Partition]
		seen[r.Partition]++
		if n < end.Offset {
			if n == 0 {
				if err := j.check(ctx, client, r.Partition, data); err != nil {
					return 0, err
				}
			}
			continue
		}
		if n == 0 {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: origin, Value: []byte(data)})
		}
		left = append(left, r)
	}
	return len(left), produce(ctx, client, left)
}

// check compares what a partition begins with to what is about to be loaded.
func (j Job) check(ctx context.Context, client *kgo.Client, partition int32, data string) error {
	topic := j.Flights().Name
	reader, err := kgo.NewClient(append(client.Opts(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		topic: {partition: kgo.NewOffset().AtStart()},
	}))...)
	if err != nil {
		return err
	}
	defer reader.Close()
	fetches := reader.PollRecords(ctx, 1)
	if err := errors.Join(fetches.Err0(), ctx.Err()); err != nil {
		return fmt.Errorf("topic %s: cannot read its first record: %w", topic, err)
	}
	for _, r := range fetches.Records() {
		for _, h := range r.Headers {
			if h.Key == origin && string(h.Value) == data {
				return nil
			}
		}
	}
	return fmt.Errorf("topic %s holds records that are not of %q: load the same data again, or use other topics", topic, data)
}

func produce(ctx context.Context, client *kgo.Client, records []*kgo.Record) error {
	errs := make(chan error, 1)
	for _, r := range records {
		client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case errs <- err:
				default:
				}
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return fmt.Errorf("cannot load records: %w", err)
	}
	select {
	case err := <-errs:
		return fmt.Errorf("cannot load records: %w", err)
	default:
		return nil
	}
}
