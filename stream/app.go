package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/engine"
)

// An App is a runnable topology. It runs once. Ready may be called from any
// goroutine.
type App struct {
	engine *engine.Engine
	ran    atomic.Bool
}

// Build checks the description and the configuration, and readies them to run.
// It opens nothing, and reports every mistake, joined, each with the place in
// the code that made it.
func (top *Topology) Build(cfg Config) (*App, error) {
	name := cfg.ID
	if name == "" {
		name = top.graph.Name
	}
	plan, err := top.graph.Build(name, &cfg.OnError.p)
	if err := errors.Join(err, cfg.check()); err != nil {
		return nil, err
	}
	stateful := false
	for _, s := range plan.Subs {
		stateful = stateful || len(s.Stores) > 0
	}
	if stateful && cfg.StateDir == "" {
		return nil, errors.New("Config.StateDir is needed: the topology keeps state")
	}
	cfg.fill()
	return &App{engine: engine.New(engine.Config{
		Plan: plan, Brokers: cfg.Brokers, Client: cfg.Client, Instance: cfg.Instance, StateDir: cfg.StateDir,
		ExactlyOnce: cfg.Guarantee == ExactlyOnce, CommitInterval: cfg.CommitInterval, CheckpointAge: cfg.CheckpointAge,
		SessionTimeout: cfg.SessionTimeout, TransactionTimeout: cfg.TransactionTimeout, StateRetention: cfg.StateRetention,
		Workers: cfg.Workers, MemoryLimit: cfg.MemoryLimit, FetchMaxBytes: cfg.FetchMaxBytes, Replication: int16(cfg.Replication),
		Log: cfg.Logger, Metrics: cfg.Metrics, Replaced: cfg.replaced,
	})}, nil
}

// check returns what is wrong with the configuration, joined.
func (c *Config) check() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf("Config."+format, args...))
		}
	}
	bad(len(c.Brokers) == 0, "Brokers is empty: give at least one host:port")
	bad(c.Guarantee != ExactlyOnce && c.Guarantee != AtLeastOnce, "Guarantee is %d", c.Guarantee)
	bad(c.CommitInterval < 0, "CommitInterval is %v", c.CommitInterval)
	bad(c.Workers < 0, "Workers is %d", c.Workers)
	bad(c.MemoryLimit < 0 || c.MemoryLimit > 0 && c.MemoryLimit < minMemory, "MemoryLimit is %d bytes: at least %d are needed",
		c.MemoryLimit, minMemory)
	bad(c.Replication < 0 || c.Replication > 100, "Replication is %d", c.Replication)
	bad(c.SessionTimeout < 0 || c.TransactionTimeout < 0 || c.CheckpointAge < 0 || c.StateRetention < 0, "a timeout is negative")
	bad(c.FetchMaxBytes < 0, "FetchMaxBytes is %d", c.FetchMaxBytes)
	bad(strings.ContainsAny(c.Instance, " \t\n/"), "Instance %q holds a space or a slash", c.Instance)
	return errors.Join(append(errs, ownOptions(c.Client))...)
}

// minMemory is the least MemoryLimit, in bytes.
const minMemory = 16 << 20

// reserved are the client options that Weir sets itself.
var reserved = []string{
	"SeedBrokers", "ConsumerGroup", "InstanceID", "TransactionalID", "TransactionTimeout", "ConsumeTopics",
	"ConsumePartitions", "ConsumeRegex",
	"Balancers", "SessionTimeout", "RebalanceTimeout", "HeartbeatInterval", "RecordPartitioner", "FetchIsolationLevel",
	"ConsumeResetOffset",
	"RequiredAcks", "DisableIdempotentWrite", "AutoCommitMarks", "GreedyAutoCommit", "ShareGroup",
}

// ownOptions refuses options that Weir sets itself: they would break its
// guarantees.
func ownOptions(opts []kgo.Opt) error {
	// These defaults are made anew for each client: to be compared they must be
	// given.
	base := []kgo.Opt{kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.RecordPartitioner(kgo.ManualPartitioner())}
	plain, err := kgo.NewClient(base...)
	if err != nil {
		return err
	}
	defer plain.Close()
	var errs []error
	for _, opt := range opts {
		probe, err := kgo.NewClient(append(base[:len(base):len(base)], opt)...)
		if err != nil {
			errs = append(errs, fmt.Errorf("Config.Client: %w", err))
			continue
		}
		for _, name := range reserved {
			if fmt.Sprint(plain.OptValues(name)) != fmt.Sprint(probe.OptValues(name)) {
				errs = append(errs, fmt.Errorf("Config.Client has kgo.%s, which Weir sets itself", name))
			}
		}
		probe.Close()
	}
	return errors.Join(errs...)
}

// fill puts defaults where nothing was set.
func (c *Config) fill() {
	set(&c.CommitInterval, 100*time.Millisecond)
	set(&c.CheckpointAge, 10*time.Second)
	set(&c.SessionTimeout, 10*time.Second)
	set(&c.TransactionTimeout, 30*time.Second)
	set(&c.StateRetention, time.Hour)
	set(&c.MemoryLimit, 512<<20)
	set(&c.FetchMaxBytes, 1<<20)
	set(&c.Workers, runtime.GOMAXPROCS(0))
	if c.Replication == 0 {
		c.Replication = -1 // the brokers' default
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
}

func set[T comparable](at *T, value T) {
	var zero T
	if *at == zero {
		*at = value
	}
}

var errRanBefore = errors.New("the app has run before: build another")

// Run checks the topology against the brokers and processes until ctx is done;
// then it commits, leaves the group and returns nil. It returns an error when
// it cannot go on: what stopped it, and what to do.
func (a *App) Run(ctx context.Context) error {
	if !a.ran.CompareAndSwap(false, true) {
		return errRanBefore
	}
	return a.engine.Run(ctx, false)
}

// RunUntilEnd processes what the sources hold now, closes every window, commits
// and returns. Records that arrive meanwhile are left for a later run; they
// cannot go into windows that this run has closed.
func (a *App) RunUntilEnd(ctx context.Context) error {
	if !a.ran.CompareAndSwap(false, true) {
		return errRanBefore
	}
	return a.engine.Run(ctx, true)
}

// Ready returns nil while every task of this instance runs, else an error that
// says what is waited for.
func (a *App) Ready() error { return a.engine.Ready() }

// FromEnv returns the configuration that the environment gives: WEIR_BROKERS
// (comma-separated), WEIR_ID, WEIR_INSTANCE, WEIR_STATE_DIR, WEIR_GUARANTEE
// (exactly_once or at_least_once), WEIR_COMMIT_INTERVAL (as 100ms),
// WEIR_WORKERS, WEIR_MEMORY_LIMIT (bytes) and WEIR_REPLICATION. What is not set
// has its default; what cannot be read is an error that names the variable.
func FromEnv() (Config, error) {
	c := Config{ID: os.Getenv("WEIR_ID"), Instance: os.Getenv("WEIR_INSTANCE"), StateDir: os.Getenv("WEIR_STATE_DIR")}
	if v := os.Getenv("WEIR_BROKERS"); v != "" {
		c.Brokers = strings.Split(v, ",")
	}
	var errs []error
	read := func(name string, parse func(string) error) {
		if v := os.Getenv(name); v != "" {
			if err := parse(v); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s=%q: %w", name, v, err))
			}
		}
	}
	read("WEIR_GUARANTEE", func(v string) error {
		switch v {
		case ExactlyOnce.String():
		case AtLeastOnce.String():
			c.Guarantee = AtLeastOnce
		default:
			return errors.New("it must be exactly_once or at_least_once")
		}
		return nil
	})
	read("WEIR_COMMIT_INTERVAL", func(v string) (err error) { c.CommitInterval, err = time.ParseDuration(v); return err })
	read("WEIR_WORKERS", func(v string) (err error) { c.Workers, err = strconv.Atoi(v); return err })
	read("WEIR_MEMORY_LIMIT", func(v string) (err error) { c.MemoryLimit, err = strconv.ParseInt(v, 10, 64); return err })
	read("WEIR_REPLICATION", func(v string) (err error) { c.Replication, err = strconv.Atoi(v); return err })
	return c, errors.Join(errs...)
}
