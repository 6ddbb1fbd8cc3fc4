package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A loader writes the input. What it meant to write is no oracle: the input topic is.
type loader struct {
	client  *kgo.Client
	source  *generator
	failed  atomic.Pointer[error]
	written atomic.Int64
}

func newLoader(addr string, g *generator) (*loader, error) {
	// It does not give up: the broker comes back. Its writes are idempotent, so the order within a partition is kept.
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(20*time.Millisecond),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return nil, err
	}
	return &loader{client: cl, source: g}, nil
}

// write writes the next n events; it waits when too many are not acknowledged.
func (l *loader) write(ctx context.Context, n int64) error {
	for range n {
		e, ms := l.source.event()
		value, err := input.Value.Append(nil, e)
		if err != nil {
			return err
		}
		user, err := userNumber(e.User)
		if err != nil {
			return err
		}
		r := &kgo.Record{Topic: inputName, Partition: home(user), Key: []byte(e.User), Value: value, Timestamp: time.UnixMilli(ms)}
		l.client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				l.failed.CompareAndSwap(nil, &err)
				return
			}
			l.written.Add(1)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// maxBacklog is how many records may wait for the application: it need not catch up for ever in the end.
const maxBacklog = 60_000

// pace writes rate events a second until ctx ends, but none while the application has enough to do.
func (l *loader) pace(ctx context.Context, rate float64, backlog func() int64) error {
	const every = 50 * time.Millisecond
	t := time.NewTicker(every)
	defer t.Stop()
	due, before := 0.0, time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			now := time.Now()
			if backlog() < maxBacklog {
				due += now.Sub(before).Seconds() * rate
			}
			before = now
			// The context is not the writes': one that is cancelled may or may not have been made.
			if err := l.write(context.WithoutCancel(ctx), int64(due)); err != nil {
				return err
			}
			due -= float64(int64(due))
		}
	}
}

// settle waits until everything is acknowledged.
func (l *loader) settle(ctx context.Context) error {
	if err := l.client.Flush(ctx); err != nil {
		return fmt.Errorf("the input was not acknowledged: %w", err)
	}
	if err := l.failed.Load(); err != nil {
		return fmt.Errorf("the input could not be written: %w", *err)
	}
	return nil
}

func (l *loader) close() { l.client.Close() }
