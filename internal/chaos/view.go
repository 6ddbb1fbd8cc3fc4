package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A view is what the broker says from the outside.
type view struct {
	admin *kadm.Client
	age   time.Duration // how long samples are kept

	behind  atomic.Int64 // records of input that are not processed
	mu      sync.Mutex
	samples []sample // oldest first
}

// A sample is where the changelogs' committed records ended at a moment.
type sample struct {
	at   time.Time
	ends kadm.ListedOffsets
}

func newView(addr string, age time.Duration) (*view, error) {
	// The broker is going to be killed: what is asked of it must fail soon, and be asked again.
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MetadataMinAge(100*time.Millisecond), kgo.RetryTimeout(5*time.Second))
	if err != nil {
		return nil, err
	}
	return &view{admin: kadm.NewClient(cl), age: age}, nil
}

func (v *view) close() { v.admin.Close() }

// createTopics makes the topics that the topology does not make itself.
func (v *view) createTopics(ctx context.Context) error {
	forever := "-1"
	got, err := v.admin.CreateTopics(ctx, partitions, 1, map[string]*string{"retention.ms": &forever},
		append([]string{inputName}, outputs...)...)
	if err == nil {
		err = got.Error()
	}
	if err != nil {
		return fmt.Errorf("create the topics: %w", err)
	}
	return nil
}

// aftermath is what a killed instance left behind: how many of its transactions are open and hold records, and where the
// committed records of the changelogs end, once all that it committed is visible; nil if that is not known.
func (v *view) aftermath(ctx context.Context, instance string) (open int, ends kadm.ListedOffsets) {
	var ids []string
	for i := range workers {
		ids = append(ids, fmt.Sprintf("%s.%s.%d", appName, instance, i))
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	decided := await(ctx, 2*time.Second, func() bool {
		got, err := v.admin.DescribeTransactions(ctx, ids...)
		if err != nil {
			return false
		}
		open = 0
		for _, t := range got {
			delete(t.Topics, "__consumer_offsets")
			switch {
			case t.State == "PrepareCommit" || t.State == "PrepareAbort": // its markers are being written
				return false
			case t.Err == nil && t.State == "Ongoing" && len(t.Topics) > 0:
				open++
			}
		}
		return true
	})
	if !decided {
		return open, nil
	}
	ends, err := v.admin.ListCommittedOffsets(ctx, changelogs()...)
	if err != nil || ends.Error() != nil {
		return open, nil
	}
	return open, ends
}

// rebalancing says whether the group is between two generations.
func (v *view) rebalancing(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	got, err := v.admin.DescribeGroups(ctx, appName)
	if err != nil {
		return false
	}
	state := got[appName].State
	return state == "PreparingRebalance" || state == "CompletingRebalance"
}

const sampleEvery = 250 * time.Millisecond

// sampling takes samples until ctx ends.
func (v *view) sampling(ctx context.Context) {
	t := time.NewTicker(sampleEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			began := time.Now()
			rctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			ends, err := v.admin.ListCommittedOffsets(rctx, changelogs()...)
			v.measure(rctx)
			cancel()
			if err != nil || ends.Error() != nil {
				continue
			}
			v.mu.Lock()
			v.samples = append(v.samples, sample{began, ends})
			for len(v.samples) > 1 && began.Sub(v.samples[1].at) > 2*v.age {
				v.samples = v.samples[1:]
			}
			v.mu.Unlock()
		}
	}
}

// measure finds out how much of the input is not processed.
func (v *view) measure(ctx context.Context) {
	ends, err := v.admin.ListEndOffsets(ctx, inputName)
	if err != nil {
		return
	}
	at, err := v.admin.FetchOffsets(ctx, appName)
	if err != nil {
		return
	}
	n := int64(0)
	ends.Each(func(e kadm.ListedOffset) {
		o, _ := at.Lookup(e.Topic, e.Partition)
		n += e.Offset - max(o.At, 0)
	})
	v.behind.Store(n)
}

// backlog is how many records of input were not processed when that was last measured.
func (v *view) backlog() int64 { return v.behind.Load() }

// endsAt returns where the changelogs ended at a moment: not before it, as far as the samples go.
func (v *view) endsAt(at time.Time) (kadm.ListedOffsets, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.samples {
		if !s.at.Before(at) {
			return s.ends, true
		}
	}
	if n := len(v.samples); n > 0 {
		return v.samples[n-1].ends, true
	}
	return nil, false
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// await asks every few ms until f says yes; it returns false after the limit.
func await(ctx context.Context, limit time.Duration, f func() bool) bool {
	deadline := time.Now().Add(limit)
	for !f() {
		if time.Now().After(deadline) || pause(ctx, 5*time.Millisecond) != nil {
			return false
		}
	}
	return true
}
