package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/client"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/metrics"
	"github.com/weirstream/weir/internal/topics"
	"github.com/weirstream/weir/state"
)

// prepare does what must be done once, before the workers start.
func (e *Engine) prepare(ctx context.Context) (err error) {
	e.phase.Store("for its state directory")
	if e.dir, err = openDirectory(e.cfg.Replaced.FS, e.cfg.StateDir, e.cfg.Instance, e.cfg.Workers); err != nil {
		return err
	}
	e.cfg.Instance = e.dir.record.Instance
	e.phase.Store("for the brokers")
	cl, err := kgo.NewClient(e.common()...)
	if err != nil {
		return fmt.Errorf("cannot make a Kafka client: %w", err)
	}
	e.admin = kadm.NewClient(cl)
	if err := e.checkBrokers(ctx, cl); err != nil {
		return err
	}
	e.phase.Store("for its topics")
	e.dir.catalog = client.NewCatalog(e.admin)
	keeper := topics.Keeper{Admin: e.admin, Catalog: e.dir.catalog, Plan: e.cfg.Plan, Log: e.cfg.Log, Replication: e.cfg.Replication}
	if e.layout, err = keeper.Prepare(ctx); err != nil {
		return err
	}
	if hasState(e.cfg.Plan) {
		e.db, err = state.Open(state.Options{
			Dir: e.dir.path, FS: e.cfg.Replaced.FS, MemoryLimit: e.cfg.MemoryLimit / 4, Logger: e.cfg.Log,
		})
		if err != nil {
			return err
		}
	}
	if e.metrics, err = metrics.New(e.cfg.Metrics, e.cfg.Plan.App, e.cfg.Instance); err != nil {
		return err
	}
	e.gauges()
	e.phase.Store("for former transactions to end")
	return e.endFormer(ctx)
}

// gauges registers what is computed at each scrape.
func (e *Engine) gauges() {
	app, instance := e.cfg.Plan.App, e.cfg.Instance
	e.metrics.Func("restored_records", "Records of changelogs replayed since the start.", app, instance,
		func() float64 { return float64(e.restoring.Records.Load()) })
	e.metrics.Func("restores", "Stores' partitions that had records to replay since the start.", app, instance,
		func() float64 { return float64(e.restoring.Restores.Load()) })
	e.metrics.Func("restore_remaining_records", "Records of changelogs still to be replayed.", app, instance,
		func() float64 { return float64(e.restoring.Remaining.Load()) })
	if e.db != nil {
		e.metrics.Func("state_disk_bytes", "Size of the state on disk.", app, instance,
			func() float64 { return float64(e.db.DiskBytes()) })
	}
}

func hasState(p *graph.Plan) bool {
	for _, s := range p.Subs {
		if len(s.Stores) > 0 {
			return true
		}
	}
	return false
}

// common are the options of all clients.
func (e *Engine) common() []kgo.Opt {
	return append([]kgo.Opt{
		kgo.SeedBrokers(e.cfg.Brokers...), kgo.ClientID("weir-" + e.cfg.Plan.App), kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.WithLogger(quiet{e.cfg.Log}), kgo.DisableClientMetrics(), // telemetry that nobody asked for, and a close waits for
	}, append(e.cfg.Client, e.cfg.Replaced.Client...)...)
}

func (e *Engine) catalog() *client.Catalog { return e.dir.catalog }

// The oldest brokers that are supported: those of Kafka 4.0.
const (
	oldestTxnOffsetCommit = 5
	oldestTransaction     = 2
)

// checkBrokers refuses brokers that are too old. With transaction.version 2
// (KIP-890) a request of one transaction that arrives late cannot end the next;
// without it exactly-once cannot be promised.
func (e *Engine) checkBrokers(ctx context.Context, cl *kgo.Client) error {
	resp, err := e.awaitBroker(ctx, cl)
	if err != nil {
		return err
	}
	commit := int16(-1)
	for _, k := range resp.ApiKeys {
		if k.ApiKey == int16(kmsg.TxnOffsetCommit) {
			commit = k.MaxVersion
		}
	}
	version := int16(0)
	for _, f := range resp.FinalizedFeatures {
		if f.Name == "transaction.version" {
			version = f.MaxVersionLevel
		}
	}
	if commit < oldestTxnOffsetCommit || e.cfg.ExactlyOnce && version < oldestTransaction {
		return fmt.Errorf("the brokers are too old: Kafka 4.0 or newer is needed, with transaction.version %d (it is %d; "+
			"kafka-features.sh upgrade --feature transaction.version=2) for exactly-once", oldestTransaction, version)
	}
	return nil
}

// awaitBroker asks a broker what it can, and waits a minute for one to answer:
// after a power cut an app is often quicker than its brokers.
func (e *Engine) awaitBroker(ctx context.Context, cl *kgo.Client) (*kmsg.ApiVersionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for first := true; ; first = false {
		resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, cl)
		if err == nil {
			return resp, nil
		}
		if first {
			e.cfg.Log.Warn("no broker answers yet", "brokers", e.cfg.Brokers, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no broker of %v answers: %w", e.cfg.Brokers, err)
		case <-again.C:
		}
	}
}

// endFormer initialises every transactional id that the state directory has
// ever used, and that no worker will use now: a transaction that a killed
// process left open under it would block readers until it times out.
func (e *Engine) endFormer(ctx context.Context) error {
	if !e.cfg.ExactlyOnce {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i := e.cfg.Workers; i < e.dir.record.Workers; i++ {
		g.Go(func() error {
			cl, err := kgo.NewClient(append(e.common(), kgo.TransactionalID(e.cfg.Plan.App+"."+workerName(e.cfg.Instance, i)),
				kgo.TransactionTimeout(e.cfg.TransactionTimeout))...)
			if err != nil {
				return err
			}
			defer cl.Close()
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if _, _, err := cl.ProducerID(ctx); err != nil {
				return fmt.Errorf("cannot end what worker %s left: %w", workerName(e.cfg.Instance, i), err)
			}
			return nil
		})
	}
	return g.Wait()
}

// sourceEnds is what the sources hold now.
func (e *Engine) sourceEnds(ctx context.Context) (kadm.ListedOffsets, error) {
	var names []string
	for _, s := range e.cfg.Plan.Subs {
		for _, n := range s.Sources {
			if n.Kind == graph.Source {
				names = append(names, n.Topic)
			}
		}
	}
	ends, err := e.admin.ListCommittedOffsets(ctx, names...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the ends of the sources: %w", err)
	}
	return ends, nil
}

// close gives everything back. After a crash that a test asked for, state is
// left as it is.
func (e *Engine) close(crashed bool) error {
	var errs []error
	if e.metrics != nil {
		e.metrics.Close()
	}
	if e.db != nil && !crashed {
		errs = append(errs, e.db.Close())
	}
	if e.admin != nil {
		e.admin.Close()
	}
	if e.dir != nil {
		errs = append(errs, e.dir.close())
	}
	return errors.Join(errs...)
}

func isCrash(err error) bool {
	var crash *checkpoint.CrashError
	return errors.As(err, &crash)
}
