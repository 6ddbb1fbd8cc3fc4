package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/verify"
)

// options are what the command line says.
type options struct {
	seconds float64 // of faults
	seed    uint64
	records int64         // of input: half of it before the faults begin
	age     time.Duration // the children's checkpoint age
	keep    bool          // the directory with logs and state

	transaction time.Duration // the children's transaction timeout
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		os.Exit(child(os.Args[2:]))
	}
	var o options
	f := flag.NewFlagSet("chaos", flag.ExitOnError)
	f.Float64Var(&o.seconds, "seconds", fullSeconds, "how long faults are injected")
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()%1_000_000), "seed of the input and of the faults")
	f.Int64Var(&o.records, "records", fullRecords, "records of input")
	f.DurationVar(&o.age, "age", 10*time.Second, "the application's checkpoint age")
	f.DurationVar(&o.transaction, "transaction", 15*time.Second, "the application's transaction timeout")
	f.BoolVar(&o.keep, "keep", false, "keep the directory with logs and state")
	_ = f.Parse(os.Args[1:])
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	ok, err := run(ctx, o, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// setupLimit bounds what comes before and after the faults and the healing: the load, and the verification.
const setupLimit = 10 * time.Minute

// run is the whole program. It reports whether all was well; an error says why it could not find out.
func run(ctx context.Context, o options, stdout, stderr io.Writer) (ok bool, err error) {
	if why := kafkatest.Missing(); why != "" {
		return false, errors.New(why)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration((o.seconds+overtime(o.seconds))*float64(time.Second))+healLimit+setupLimit)
	defer cancel()
	dir, err := os.MkdirTemp("", "weir-chaos-")
	if err != nil {
		return false, err
	}
	r := newReporter(stdout, stderr, o.seed)
	defer func() {
		if o.keep || !ok && ctx.Err() == nil {
			r.say("logs and state are in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	}()
	r.say("seed %d, %v s of faults, %d records", o.seed, o.seconds, o.records)
	broker, err := kafkatest.Launch(kafkatest.Heap("768m"))
	if err != nil {
		return false, err
	}
	defer broker.Close()
	v, err := newView(broker.Addr(), o.age)
	if err != nil {
		return false, err
	}
	defer v.close()
	reader, err := verify.NewReader(kgo.SeedBrokers(broker.Addr()))
	if err != nil {
		return false, err
	}
	defer reader.Close()
	g := newRig(o, broker, v, r, dir)
	defer g.close()
	if err := g.through(ctx, reader); ctx.Err() != nil {
		return false, errors.Join(err, context.Cause(ctx))
	} else if err != nil {
		r.violation("%v", err)
	}
	return r.finish(o, g.ledger.judge()), nil
}

// through is a run from its load to the verification.
func (g *rig) through(ctx context.Context, reader *verify.Reader) error {
	h, err := g.storm(ctx, reader)
	if err != nil {
		return err
	}
	if err := g.verify(ctx, reader, h); err != nil {
		return fmt.Errorf("cannot verify: %w", err)
	}
	return nil
}

// storm loads the input, runs the application, injects the faults, and heals.
func (g *rig) storm(ctx context.Context, reader *verify.Reader) (*healing, error) {
	if err := g.view.createTopics(ctx); err != nil {
		return nil, err
	}
	load, err := newLoader(g.broker.Addr(), newGenerator(g.seed, g.records))
	if err != nil {
		return nil, err
	}
	defer load.close()
	first := g.records / 2
	if err := errors.Join(load.write(ctx, first), load.settle(ctx)); err != nil {
		return nil, err
	}
	g.report.say("%d records are loaded", first)
	if err := g.start(g.slots[0]); err != nil {
		return nil, err
	}
	background, cancel := context.WithCancel(ctx)
	defer cancel()
	var group errgroup.Group
	group.Go(func() error { g.view.sampling(background); return nil })
	group.Go(func() error { return load.pace(background, float64(g.records-first)/g.seconds, g.view.backlog) })
	if _, err := g.steady(ctx); err != nil {
		return nil, err
	}
	if err := g.script(ctx); err != nil {
		return nil, err
	}
	last, began, err := g.alone(ctx)
	cancel()
	if err := errors.Join(err, group.Wait(), load.settle(ctx)); err != nil {
		return nil, err
	}
	g.report.say("%d records were written in all", load.written.Load())
	g.report.set(func(s *summary) { s.Records = load.written.Load() })
	return g.heal(ctx, reader, last, began)
}
