package streamtest

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/state"
)

// stateMemory is little: what a test keeps is small, and tests make many
// databases.
const stateMemory = 1 << 20

// openState opens the database on d.fs.
func (d *Driver) openState() (err error) {
	d.db, err = state.Open(state.Options{
		Dir: "state", FS: d.fs, MemoryLimit: stateMemory, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	return err
}

// start makes the workers, and gives them all tasks.
func (d *Driver) start(workers int) error {
	d.workers = nil
	for range workers {
		d.workers = append(d.workers, newWorker(d))
	}
	next := 0
	for _, sub := range d.plan.Subs {
		for p := range d.layout.tasks(sub) {
			if err := d.workers[next%workers].take(task.ID{Sub: sub.ID, Partition: p}); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

// offsets is what the group committed for the inputs of a task.
func (d *Driver) offsets(inputs []*task.Input) ([]checkpoint.Offset, error) {
	var list []checkpoint.Offset
	for _, in := range inputs {
		o := checkpoint.Offset{Topic: in.Topic, Partition: in.Partition, Meta: checkpoint.NoMeta}
		c, ok := d.broker.committed[place{in.Topic, in.Partition}]
		if ok {
			m, err := checkpoint.DecodeMeta(c.metadata)
			if err != nil {
				return nil, err
			}
			o.Offset, o.Meta = c.offset, m
		} else if n := d.layout.source(in.Topic); n != nil && !n.Reader.From.IsZero() {
			o.Offset = d.broker.log(in.Topic, in.Partition).since(n.Reader.From)
		}
		list = append(list, o)
	}
	return list, nil
}

// lease opens the partition of a store and brings it up to its changelog.
func (d *Driver) lease(n *graph.Node, partition int32) (*state.Partition, error) {
	part, err := d.db.Lease(*n.Store, partition)
	if err != nil {
		return nil, err
	}
	if err := d.restore(part, n, d.broker.log(d.plan.ChangelogTopic(n), partition)); err != nil {
		part.Release()
		return nil, fmt.Errorf("restore: %w", err)
	}
	return part, nil
}

func (d *Driver) restore(part *state.Partition, n *graph.Node, log *partitionLog) error {
	pos, _, err := part.Position()
	if err != nil {
		return err
	}
	if pos.Offset < log.start {
		if err := part.Clear(); err != nil {
			return err
		}
		pos.Offset = log.start
	}
	var changes []state.Change
	for _, r := range log.read(pos.Offset) {
		if pos.Offset = r.Offset + 1; !r.Attrs.IsControl() {
			changes = append(changes, state.Change{Key: string(r.Key), Value: r.Value})
		}
	}
	pos.Wall = d.now
	return part.Restore(changes, pos, n.Store.Kind == "session")
}

// Crash throws away all memory, and of the state directory what was not yet
// safe on disk, as the end of the process and a power cut would. It then restores
// from the last commit, and does again what was done since.
func (d *Driver) Crash() {
	d.t.Helper()
	d.bounded = false
	d.crash(d.opts.wipe)
}

// CrashAndWipe is Crash where the state directory is lost as well: everything is
// restored from changelogs.
func (d *Driver) CrashAndWipe() {
	d.t.Helper()
	d.bounded = false
	d.crash(true)
}

func (d *Driver) crash(wipe bool) {
	d.t.Helper()
	d.stop(nil)
	old := d.db
	if wipe {
		d.fs = vfs.NewCrashableMem()
	} else {
		d.fs = d.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50 * d.rng.IntN(3), RNG: d.rng})
	}
	if err := errors.Join(old.Close(), d.openState()); err != nil {
		d.t.Fatalf("streamtest: %v", err)
	}
	if err := d.start(len(d.workers)); err != nil {
		d.fail(err)
		return
	}
	d.stopped = nil
	d.urge()
	d.settle(d.pending == 0)
}

// Rescale commits and spreads the tasks over n workers, as when instances join
// or leave.
func (d *Driver) Rescale(n int) {
	d.t.Helper()
	d.commit()
	if d.stopped != nil {
		return
	}
	d.stop(nil)
	if err := d.start(n); err != nil {
		d.fail(err)
		return
	}
	d.urge()
	d.settle(true)
}
