package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// runRaw is what franz-go alone can do: read, or copy from topic to topic in transactions. It is the limit of any engine
// that is built on it.
func runRaw(ctx context.Context, w childArgs) error {
	opts := []kgo.Opt{
		kgo.SeedBrokers(w.brokers), kgo.MetadataMinAge(100 * time.Millisecond), kgo.ConsumerGroup(w.id), kgo.ConsumeTopics(w.in),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxPartitionBytes(2 << 20), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
	}
	if w.workload == "raw-consume" {
		return consume(ctx, opts)
	}
	return transact(ctx, w, append(opts,
		kgo.DefaultProduceTopic(w.out), kgo.TransactionalID(w.id),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(200_000), kgo.ProducerLinger(5*time.Millisecond)))
}

// consume reads, and commits at each interval.
func consume(ctx context.Context, opts []kgo.Opt) error {
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	for ctx.Err() == nil {
		end := time.Now().Add(commitInterval)
		for time.Now().Before(end) {
			pctx, cancel := context.WithDeadline(ctx, end)
			fetches := cl.PollFetches(pctx)
			cancel()
			if err := fetchError(ctx, fetches); err != nil {
				return err
			}
			fetches.EachRecord(func(*kgo.Record) {})
		}
		if err := cl.CommitUncommittedOffsets(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// transact copies, one transaction per interval.
func transact(ctx context.Context, w childArgs, opts []kgo.Opt) error {
	s, err := kgo.NewGroupTransactSession(opts...)
	if err != nil {
		return err
	}
	defer s.Close()
	for ctx.Err() == nil {
		if err := s.Begin(); err != nil {
			return err
		}
		var failed error
		promise := func(_ *kgo.Record, err error) { failed = errors.Join(failed, err) }
		end := time.Now().Add(commitInterval)
		for time.Now().Before(end) && ctx.Err() == nil {
			pctx, cancel := context.WithDeadline(ctx, end)
			fetches := s.PollFetches(pctx)
			cancel()
			if err := fetchError(ctx, fetches); err != nil {
				return err
			}
			fetches.EachRecord(func(r *kgo.Record) {
				s.Produce(context.Background(), &kgo.Record{Key: r.Key, Value: flipped(r.Value), Timestamp: r.Timestamp}, promise)
			})
		}
		if committed, err := s.End(context.Background(), kgo.TryCommit); err != nil || failed != nil {
			return errors.Join(err, failed)
		} else if !committed && ctx.Err() == nil {
			return fmt.Errorf("a transaction of %s was not committed", w.id)
		}
	}
	return nil
}

// fetchError is the first error of a poll that was not its deadline.
func fetchError(ctx context.Context, fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		if !errors.Is(e.Err, context.DeadlineExceeded) && ctx.Err() == nil {
			return fmt.Errorf("read %s, partition %d: %w", e.Topic, e.Partition, e.Err)
		}
	}
	return nil
}
