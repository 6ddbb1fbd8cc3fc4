// Package engine runs an app on one instance: it prepares topics and state, and
// runs the workers.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirstream/weir/internal/assign"
	"github.com/weirstream/weir/internal/client"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/metrics"
	"github.com/weirstream/weir/internal/restore"
	"github.com/weirstream/weir/internal/seam"
	"github.com/weirstream/weir/internal/topics"
	"github.com/weirstream/weir/internal/worker"
	"github.com/weirstream/weir/state"
)

// A Config is a checked configuration with all defaults filled in.
type Config struct {
	Plan               *graph.Plan
	Brokers            []string
	Client             []kgo.Opt
	Instance           string // empty: as kept in StateDir
	StateDir           string
	ExactlyOnce        bool
	CommitInterval     time.Duration
	CheckpointAge      time.Duration
	SessionTimeout     time.Duration
	TransactionTimeout time.Duration
	StateRetention     time.Duration
	Workers            int
	MemoryLimit        int64
	FetchMaxBytes      int32
	Replication        int16
	Log                *slog.Logger
	Metrics            prometheus.Registerer
	Replaced           seam.Replacements
}

// An Engine runs once.
type Engine struct {
	cfg     Config
	dir     *directory
	db      *state.DB
	admin   *kadm.Client
	layout  *topics.Layout
	metrics *metrics.App

	restoring restore.Progress
	phase     atomic.Value // string: what is being done, before the workers run
	mu        sync.Mutex
	workers   []*worker.Worker
}

// New returns an engine that Run will start.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg}
	e.phase.Store("to be started")
	return e
}

// ErrEnded ends the workers of a bounded run that has come to its end.
var errEnded = errors.New("the bounded run has come to its end")

// Run runs until ctx ends, or bounded until everything that the sources held at
// the start is processed.
func (e *Engine) Run(ctx context.Context, bounded bool) (err error) {
	defer e.phase.Store("stopped")
	if err := e.prepare(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = nil
		}
		return errors.Join(err, e.close(false))
	}
	crashed := false
	defer func() { err = errors.Join(err, e.close(crashed)) }()
	var ends kadm.ListedOffsets
	if bounded {
		if ends, err = e.sourceEnds(ctx); err != nil {
			return err
		}
	}
	err = e.runWorkers(ctx, bounded, func(topic string, p int32) int64 {
		o, _ := ends.Lookup(topic, p)
		return o.Offset
	})
	crashed = isCrash(err)
	switch {
	case errors.Is(err, errEnded):
		return nil
	case ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())):
		if bounded {
			return fmt.Errorf("the run was stopped before it came to its end; what it did is committed: %w", context.Cause(ctx))
		}
		return nil
	}
	return err
}

func (e *Engine) runWorkers(ctx context.Context, bounded bool, end func(string, int32) int64) error {
	g, ctx := errgroup.WithContext(ctx)
	e.mu.Lock()
	for i := range e.cfg.Workers {
		w := worker.New(e.workerConfig(i, bounded, end))
		e.workers = append(e.workers, w)
		g.Go(func() error { return w.Run(ctx) })
	}
	e.mu.Unlock()
	if e.db != nil {
		g.Go(func() error { return e.checkpoints(ctx) })
		g.Go(func() error { return e.retain(ctx) })
	}
	if bounded {
		g.Go(func() error { return e.awaitEnd(ctx) })
	}
	e.phase.Store("")
	e.cfg.Log.Info("running", "app", e.cfg.Plan.App, "instance", e.cfg.Instance, "workers", e.cfg.Workers, "tasks_of_app", e.layout.Total())
	return g.Wait()
}

func (e *Engine) workerConfig(i int, bounded bool, end func(string, int32) int64) worker.Config {
	c, share := e.cfg, e.cfg.MemoryLimit/int64(e.cfg.Workers)
	var read []string
	balance := assign.Config{Instance: c.Instance}
	for s, sub := range c.Plan.Subs {
		a := assign.SubTopology{ID: sub.ID, Partitions: e.layout.Tasks[s], Counts: map[string]int32{}}
		for _, n := range sub.Sources {
			topic := c.Plan.TopicOf(n)
			read = append(read, topic)
			a.Topics = append(a.Topics, topic)
			if p := e.layout.Partitions(topic); p < a.Partitions {
				a.Counts[topic] = p
			}
		}
		balance.Topology = append(balance.Topology, a)
	}
	if i == 0 && e.db != nil {
		balance.Warm = e.warm // one worker speaks for the instance
	}
	name := workerName(c.Instance, i)
	w := worker.Config{
		Plan: c.Plan, Layout: e.layout, DB: e.db, Catalog: e.catalog(), Admin: e.admin, Opening: e.dir.opening, Balance: balance,
		Restorer: &restore.Restorer{Options: e.common(), Admin: e.admin, Log: c.Log, Now: time.Now, Progress: &e.restoring},
		Client: client.Config{
			Common: e.common(), Last: c.Replaced.Client, Group: c.Plan.App, Instance: name, Topics: read, Catalog: e.catalog(),
			Transactional: c.ExactlyOnce, SessionTimeout: c.SessionTimeout, TransactionTimeout: c.TransactionTimeout,
			FetchMaxBytes: c.FetchMaxBytes, BufferBytes: max(share/8, 8<<20),
		},
		CommitInterval: c.CommitInterval, CheckpointAge: c.CheckpointAge, CacheBytes: share / 2,
		Hook: c.Replaced.Hook, PurgeEvery: c.Replaced.PurgeEvery,
		Log: c.Log, Metrics: e.metrics.Worker(name, c.Plan.Names),
	}
	if bounded {
		w.Bounded = end
	}
	return w
}

// workerName is the static member id of a worker, and the end of its
// transactional id.
func workerName(instance string, i int) string { return fmt.Sprintf("%s.%d", instance, i) }

// checkpoints flushes Pebble now and then: what is in its memory is lost when
// the process dies.
func (e *Engine) checkpoints(ctx context.Context) error {
	t := time.NewTicker(max(e.cfg.CheckpointAge/2, time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := e.db.Checkpoint(); err != nil {
				return fmt.Errorf("cannot flush the state: %w", err)
			}
		}
	}
}

// awaitEnd returns errEnded when all tasks of a bounded run are done.
func (e *Engine) awaitEnd(ctx context.Context) error {
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-t.C:
			mine, done := e.progress()
			if !done {
				since = time.Time{}
				continue
			}
			if since.IsZero() {
				since = now
			}
			// With other instances in the group some tasks are theirs: what is left
			// for this one must stay so for a while.
			if mine == e.layout.Total() || now.Sub(since) > 3*time.Second {
				return errEnded
			}
		}
	}
}

// progress is how many tasks this instance has, and whether all are done.
func (e *Engine) progress() (mine int, done bool) {
	done = true
	for _, w := range e.workers {
		s := w.State()
		mine += s.Tasks
		done = done && s.Assigned && s.Done == s.Tasks
	}
	return mine, done
}

// Ready returns nil while every task of this instance runs, else an error that
// says what is waited for.
func (e *Engine) Ready() error {
	if phase, _ := e.phase.Load().(string); phase != "" {
		return fmt.Errorf("the app waits %s", phase)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.workers {
		if s := w.State(); !s.Assigned || s.Running < s.Tasks {
			if left := e.restoring.Remaining.Load(); left > 0 {
				return fmt.Errorf("the app waits for %s: %d records of changelogs are left to read", s.Waits, left)
			}
			return fmt.Errorf("the app waits for %s", s.Waits)
		}
	}
	return nil
}

// Restored is how many records of changelogs were replayed, and how many tasks'
// stores had any to replay.
func (e *Engine) Restored() (records, stores, rebuilt int64) {
	return e.restoring.Records.Load(), e.restoring.Restores.Load(), e.restoring.Rebuilt.Load()
}
