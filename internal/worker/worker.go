// Package worker runs tasks: one goroutine, with one Kafka client, polls,
// processes, commits, and lets the group rebalance in between.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/assign"
	"github.com/weirstream/weir/internal/client"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/metrics"
	"github.com/weirstream/weir/internal/restore"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topics"
	"github.com/weirstream/weir/state"
)

// A Config is what a worker is made of. What it points to is shared with the
// other workers of the instance.
type Config struct {
	Plan     *graph.Plan
	Layout   *topics.Layout
	DB       *state.DB // nil if the topology has no state
	Catalog  *client.Catalog
	Admin    *kadm.Client
	Restorer *restore.Restorer
	Opening  chan struct{} // how many tasks of the instance may be opened at a time
	Client   client.Config // without what the worker sets itself
	Balance  assign.Config

	CommitInterval time.Duration
	CheckpointAge  time.Duration
	CacheBytes     int64 // for the caches of the worker's tasks
	PurgeEvery     time.Duration
	Bounded        func(topic string, partition int32) int64
	Hook           checkpoint.Hook
	Log            *slog.Logger
	Metrics        *metrics.Worker
}

// A Worker owns tasks. Run is its goroutine; State may be asked from others.
type Worker struct {
	cfg      Config
	client   *client.Client
	balancer *assign.Balancer
	lasting  context.Context // outlives that of Run by stopTimeout

	tasks    map[task.ID]*held
	running  []*task.Task // of tasks, those that are open
	seq      uint64       // of the ownership that tasks reflect
	controls *task.Controls

	interval int64     // number of the one under way
	began    time.Time // when it did its first work; zero if it did none
	marks    []commitMark
	purged   purger

	opened  chan opened
	opening sync.WaitGroup // of what sends to opened
	answers chan answer
	hurry   atomic.Bool // a rebalance waits
	waking  waker
	fences  int // sessions in a row that ended by fencing

	state atomic.Pointer[State]
}

// A State is what a worker is doing.
type State struct {
	Assigned bool // the group has answered
	Tasks    int  // assigned
	Running  int  // open and processing
	Done     int  // of a bounded run: those that have come to their end, committed
	Waits    string
}

// A commitMark remembers when a commit was.
type commitMark struct {
	number int64
	at     time.Time
}

// held is a task that the group has given to the worker.
type held struct {
	grant  assign.Grant
	task   *task.Task // nil while it is being opened
	cancel context.CancelFunc
	done   bool // in a bounded run: it has come to its end, and that is committed
}

// New returns a worker that Run will start.
func New(cfg Config) *Worker {
	w := &Worker{cfg: cfg, opened: make(chan opened, 16), answers: make(chan answer, 256)}
	w.state.Store(&State{Waits: "the group"})
	return w
}

// State returns what the worker is doing.
func (w *Worker) State() State { return *w.state.Load() }

// errRebuild wraps what made a client useless, which another will mend.
type errRebuild struct{ err error }

func (e *errRebuild) Error() string { return e.err.Error() }
func (e *errRebuild) Unwrap() error { return e.err }

// Run works until ctx ends, then commits and leaves the group. It returns what
// stopped it otherwise.
func (w *Worker) Run(ctx context.Context) error {
	backoff := 100 * time.Millisecond
	for {
		began := time.Now()
		err := w.session(ctx)
		var rebuild *errRebuild
		if !errors.As(err, &rebuild) {
			return err
		}
		if w.fences >= maxFences {
			return fmt.Errorf("worker %s was fenced %d times in a row: another process uses the same instance id, %q; "+
				"ids must be unique: %w", w.cfg.Client.Instance, w.fences, w.cfg.Balance.Instance, err)
		}
		w.cfg.Log.Warn("starting again with a new client", "worker", w.cfg.Client.Instance, "because", err)
		w.cfg.Metrics.Rebuilds.Inc()
		if time.Since(began) > time.Minute {
			backoff = 100 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(backoff/2 + rand.N(backoff/2)):
		}
		backoff = min(2*backoff, 5*time.Second)
	}
}

// maxFences is how many sessions in a row may end by fencing before a worker
// concludes that another process has its id.
const maxFences = 8

// session works with one client.
func (w *Worker) session(ctx context.Context) error {
	balancer, err := assign.New(w.cfg.Balance)
	if err != nil {
		return err
	}
	// A stop ends the interval first, but does not take for ever: brokers that
	// are down may never answer.
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopTimeout, end) })()
	cfg := w.cfg.Client
	cfg.Context, cfg.Balancer = lasting, balancer
	cfg.Assigned = func(map[string][]int32) { w.wake() }
	cfg.Blocked = func() { w.hurry.Store(true); w.wake() }
	cl, err := client.New(cfg)
	if err != nil {
		return fmt.Errorf("cannot make a Kafka client: %w", err)
	}
	w.client, w.balancer, w.seq, w.lasting = cl, balancer, 0, lasting
	w.tasks, w.running = map[task.ID]*held{}, nil
	w.resetInterval()
	w.controls = w.newControls()
	w.hurry.Store(false)
	if err = w.init(ctx); err == nil {
		err = w.loop(ctx)
	}
	var crash *checkpoint.CrashError
	if errors.As(err, &crash) {
		w.closeAll()
		cl.Close()
		return err
	}
	return w.leave(ctx, err)
}

// init readies the client's producer.
func (w *Worker) init(ctx context.Context) error {
	err := w.client.Init(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return nil // stopping
	case permanent(err) != nil:
		return fmt.Errorf("worker %s cannot have transactions: %w", w.cfg.Client.Instance, err)
	}
	return &errRebuild{fmt.Errorf("the producer cannot be initialised: %w", err)}
}

func (w *Worker) newControls() *task.Controls {
	return task.NewControls(w.cfg.Plan, w.upstream, task.ControlEvery)
}

// upstream is the number of tasks that write a repartition topic.
func (w *Worker) upstream(topic string) int32 {
	for _, s := range w.cfg.Plan.Subs {
		for _, n := range s.Repartitions {
			if w.cfg.Plan.RepartitionTopic(n) == topic {
				return w.cfg.Layout.Tasks[s.ID]
			}
		}
	}
	return 0
}

// leave ends a session: cleanly, if nothing went wrong. A stop whose last
// interval could not be committed loses nothing: whoever gets the tasks next
// does it again.
func (w *Worker) leave(running context.Context, err error) error {
	cl := w.client
	ctx, cancel := w.lasting, func() {}
	if running.Err() == nil { // it stops by itself
		ctx, cancel = context.WithTimeout(ctx, tidyTimeout)
	}
	defer cancel()
	if err == nil {
		if err = w.commit(ctx); err == nil {
			err = w.writeAll()
		}
	}
	w.closeAll()
	var crash *checkpoint.CrashError
	if err != nil && !errors.As(err, &crash) {
		_ = cl.Abort(ctx) // the transaction would time out anyhow
	}
	var failed *checkpoint.NotCommittedError
	if running.Err() != nil && errors.As(err, &failed) {
		w.cfg.Log.Warn("stopping, but the last interval was not committed", "worker", w.cfg.Client.Instance, "error", err)
		err = permanent(err)
	}
	var rebuild *errRebuild
	if !errors.As(err, &rebuild) && !errors.Is(err, kerr.FencedInstanceID) { // else it would throw another out
		if lerr := cl.LeaveGroup(ctx); lerr != nil {
			w.cfg.Log.Warn("could not leave the group; its session will time out", "worker", w.cfg.Client.Instance, "error", lerr)
		}
	}
	cl.Close()
	return err
}

const (
	stopTimeout = 20 * time.Second // bounds what a stop waits for; supervisors often kill after 30 s
	tidyTimeout = 10 * time.Second // bounds what is waited for after an error, to end what others would wait for
)

// loop polls, works and commits until ctx ends.
func (w *Worker) loop(ctx context.Context) error {
	for ctx.Err() == nil {
		if w.clean() {
			if err := w.reconcile(ctx); err != nil {
				return err
			}
			w.allow()
		}
		if err := w.receive(ctx); err != nil {
			return err
		}
		if err := w.poll(ctx); err != nil {
			return err
		}
		if err := w.work(ctx); err != nil {
			return err
		}
		if w.commitDue() {
			if err := w.commitOrReset(ctx); err != nil {
				return err
			}
		}
		w.report()
	}
	return nil
}

// allow lets a rebalance that waits go on. No interval may be under way.
func (w *Worker) allow() {
	w.hurry.Store(false)
	w.client.AllowRebalance()
}

// waker ends a poll early.
type waker struct {
	mu     sync.Mutex
	cancel context.CancelFunc
	woken  bool
}

// wake makes the worker look around now.
func (w *Worker) wake() {
	w.waking.mu.Lock()
	defer w.waking.mu.Unlock()
	w.waking.woken = true
	if w.waking.cancel != nil {
		w.waking.cancel()
	}
}

// waking returns a context that ends after d, or when the worker is woken.
func (w *Worker) sleepable(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, d)
	w.waking.mu.Lock()
	defer w.waking.mu.Unlock()
	if w.waking.woken {
		cancel()
	}
	w.waking.woken, w.waking.cancel = false, cancel
	return ctx, cancel
}
