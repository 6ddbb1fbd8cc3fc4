package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// originHeader is on the first record of each partition, and says what was
// loaded.
const originHeader = "loaded-from"

// load writes records of one topic, in their order and each to the partition
// that it names, and returns how many it wrote. It goes on where a former load
// of the same data was interrupted, and does nothing if none was: the number of
// a partition's records says how far that one came. data names the data; others
// in the topic are an error.
func load(ctx context.Context, client *kgo.Client, records []*kgo.Record, data string) (int, error) {
	if len(records) == 0 {
		return 0, errors.New("there is nothing to load")
	}
	topic := records[0].Topic
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
		end, _ := ends.Lookup(topic, r.Partition)
		n := seen[r.Partition]
		seen[r.Partition]++
		if n == 0 && end.Offset > 0 {
			if err := checkOrigin(ctx, client, topic, r.Partition, data); err != nil {
				return 0, err
			}
		}
		if n == 0 {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: originHeader, Value: []byte(data)})
		}
		if n >= end.Offset {
			left = append(left, r)
		}
	}
	return len(left), produce(ctx, client, left)
}

// checkOrigin compares what a partition begins with to what is to be loaded.
func checkOrigin(ctx context.Context, client *kgo.Client, topic string, partition int32, data string) error {
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
			if h.Key == originHeader && string(h.Value) == data {
				return nil
			}
		}
	}
	return fmt.Errorf("topic %s holds other records than %s: give the same --data as before, or another --state-dir "+
		"(on Kafka: delete the topics)", topic, data)
}

// produce writes records and waits for all to be acknowledged.
func produce(ctx context.Context, client *kgo.Client, records []*kgo.Record) error {
	failed := make(chan error, 1)
	for _, r := range records {
		client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	err := client.Flush(ctx)
	select {
	case perr := <-failed:
		err = errors.Join(perr, err)
	default:
	}
	if err != nil {
		return fmt.Errorf("cannot load records: %w", err)
	}
	return nil
}
