package streamtest

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/seam"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A Driver runs a topology step by step. It is used by the goroutine of its
// test.
type Driver struct {
	t      testing.TB
	opts   options
	plan   *graph.Plan
	layout *layout
	broker *broker
	fs     *vfs.MemFS
	db     *state.DB
	rng    *rand.Rand
	now    int64 // the engine's clock, ms since the epoch

	workers  []*worker
	steps    int // so far
	pending  int // steps since the last commit
	received map[string]int64
	drops    map[Drop]int64
	stopped  error // why the app has stopped
	expected bool  // an error is

	bounded   bool   // the input has ended
	advancing *int64 // where Advance moves event time to, while it does
}

// New builds top and starts it. It fails the test on every mistake in top, and
// on any error that would stop the app later on; see [Driver.Fails]. The app
// commits and ends with the test.
func New(t testing.TB, top *stream.Topology, opts ...Option) *Driver {
	t.Helper()
	d := &Driver{t: t, opts: defaults(), fs: vfs.NewCrashableMem(), received: map[string]int64{}, drops: map[Drop]int64{}}
	for _, o := range opts {
		o(&d.opts)
	}
	d.now = d.opts.clock.UnixMilli()
	d.rng = rand.New(rand.NewPCG(d.opts.seed, 0))
	var err error
	if d.plan, err = seam.PlanOf(top, ""); err != nil {
		t.Fatalf("streamtest: the topology does not build:\n%v", err)
	}
	d.layout = newLayout(d.plan, &d.opts)
	d.broker = newBroker(d.layout.topic)
	if err := d.openState(); err != nil {
		t.Fatalf("streamtest: %v", err)
	}
	t.Cleanup(d.close)
	if err := d.start(d.opts.workers); err != nil {
		d.fail(err)
	}
	d.settle(true)
	return d
}

// close ends the app with its test.
func (d *Driver) close() {
	if d.stopped == nil && !d.t.Failed() {
		d.commit()
	}
	d.stop(nil)
	if err := d.db.Close(); err != nil {
		d.t.Errorf("streamtest: %v", err)
	}
}

// stepped runs what follows from a step of the test's.
func (d *Driver) stepped() {
	d.t.Helper()
	if d.pending++; d.pending >= d.opts.commitEvery {
		d.commit()
	} else {
		d.settle(false)
	}
	d.crashIfDue()
}

// crashIfDue ends a step.
func (d *Driver) crashIfDue() {
	d.t.Helper()
	d.steps++
	if d.opts.crashEvery > 0 && d.steps%d.opts.crashEvery == 0 && d.stopped == nil {
		d.Crash()
	}
}

// commit commits all that was done, and what follows from it.
func (d *Driver) commit() {
	d.t.Helper()
	d.settle(true)
	d.pending = 0
}

// settle lets the workers run until nothing is left to do.
func (d *Driver) settle(commit bool) {
	d.t.Helper()
	for busy := true; busy && d.stopped == nil; {
		busy = false
		for _, w := range d.workers {
			did, err := w.work()
			if err == nil && commit {
				var committed bool
				committed, err = w.commit()
				did = did || committed
			}
			if busy = busy || did; errors.Is(err, errCrash) {
				d.crash(d.opts.wipe)
				break // the workers are others now
			} else if err != nil {
				d.fail(err)
				return
			}
		}
	}
}

// stop ends the workers as a crash would.
func (d *Driver) stop(why error) {
	for _, w := range d.workers {
		w.close()
	}
	d.stopped = why
}

// fail stops the app because of an error, and fails the test unless it expects
// one.
func (d *Driver) fail(err error) {
	d.t.Helper()
	d.stop(err)
	if !d.expected {
		d.t.Fatalf("streamtest: the app has stopped: %v", err)
	}
}

// Fails calls f, in which the app must stop with an error, and returns it. What
// is sent to an app that has stopped waits until a Crash has started it again.
func (d *Driver) Fails(f func()) error {
	d.t.Helper()
	d.expected = true
	f()
	d.expected = false
	if d.stopped == nil {
		d.t.Fatalf("streamtest: the app was expected to stop, and has not")
	}
	return d.stopped
}

// pause is what operators wait with before they try again.
func (d *Driver) pause(ms int64) error {
	d.now += ms
	return nil
}

// stepLimit is how many records a task processes in one go.
func (d *Driver) stepLimit() int { return 1 + d.rng.IntN(8) }

// A Drop is an operator and a reason for which it dropped records.
type Drop struct {
	Operator string // its name; the topic's name for sources
	Reason   string // late, null_key, null_value, undecodable, failed, too_large, future or no_time
}

// Drops returns how many records were dropped since the driver was made, as of
// the last commit. A late record counts once for each window that it missed.
func (d *Driver) Drops() map[Drop]int64 {
	d.commit()
	drops := make(map[Drop]int64, len(d.drops))
	for k, n := range d.drops {
		drops[k] = n
	}
	return drops
}

func (d *Driver) count(drops map[flow.DropKey]int64) {
	for k, n := range drops {
		d.drops[Drop{d.plan.Names[k.Node], k.Reason.String()}] += n
	}
}
