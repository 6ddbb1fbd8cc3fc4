package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A viewer reads the job's results as they are committed, from the topics'
// start, and shows them in a goroutine of its own.
type viewer struct {
	job    job
	client *kgo.Client
	cancel context.CancelFunc
	ended  chan struct{} // closed when the goroutine is over, because of err
	err    error
	moved  chan struct{} // told of every step

	mu sync.Mutex
	at map[string]map[int32]int64 // the next offset
}

// newViewer starts to show the job's results.
func newViewer(brokers []string, j job) (*viewer, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(j.topics()[1:]...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.ClientID("streamrun-viewer"),
	)
	if err != nil {
		return nil, fmt.Errorf("--brokers: %w", err)
	}
	v := &viewer{job: j, client: client, ended: make(chan struct{}), moved: make(chan struct{}, 1), at: map[string]map[int32]int64{}}
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel = cancel
	go func() {
		defer close(v.ended)
		for v.err == nil {
			v.err = v.take(client.PollRecords(ctx, 10_000))
			select {
			case v.moved <- struct{}{}:
			default:
			}
		}
	}()
	return v, nil
}

func (v *viewer) close() {
	v.cancel()
	<-v.ended
	v.client.Close()
}

// take shows what was fetched.
func (v *viewer) take(fetches kgo.Fetches) error {
	if err := fetches.Err(); err != nil {
		return fmt.Errorf("cannot read results: %w", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for it := fetches.RecordIter(); !it.Done(); {
		r := it.Next()
		if v.at[r.Topic] == nil {
			v.at[r.Topic] = map[int32]int64{}
		}
		v.at[r.Topic][r.Partition] = r.Offset + 1
		if r.Attrs.IsControl() {
			continue // the end of a transaction
		}
		if err := v.job.show(r); err != nil {
			return fmt.Errorf("topic %s, partition %d, offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
	}
	return nil
}

// finish returns when all that is committed now was shown.
func (v *viewer) finish(ctx context.Context, admin *kadm.Client) error {
	ends, err := admin.ListCommittedOffsets(ctx, v.job.topics()[1:]...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("cannot tell where the results end: %w", err)
	}
	for !v.reached(ends) {
		select {
		case <-v.moved:
		case <-v.ended:
			return v.err
		case <-ctx.Done():
			return errors.Join(errors.New("the results could not be read to their end"), ctx.Err())
		}
	}
	return nil
}

func (v *viewer) reached(ends kadm.ListedOffsets) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for topic, partitions := range ends {
		for p, end := range partitions {
			if v.at[topic][p] < end.Offset {
				return false
			}
		}
	}
	return true
}
