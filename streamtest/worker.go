package streamtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/state"
)

// A worker owns tasks and one transaction at a time, as in the engine.
type worker struct {
	d        *Driver
	tasks    []*task.Task
	out      *producer
	controls *task.Controls
	number   int64 // of the commit under way
}

func newWorker(d *Driver) *worker {
	return &worker{d: d, out: newProducer(d.broker), controls: task.NewControls(d.plan, d.layout.upstream, 0), number: 1}
}

// take opens a task where the last commit left it.
func (w *worker) take(id task.ID) error {
	d := w.d
	partitions := func(topic string) int32 { return d.layout.topic(topic).Partitions }
	offsets, err := d.offsets(task.Inputs(d.plan, id, partitions))
	if err != nil {
		return err
	}
	t, err := task.New(task.Config{
		ID: id, Plan: d.plan, Out: w.out, Now: func() int64 { return d.now }, Sleep: d.pause, Upstream: d.layout.upstream,
		Lease:      func(n *graph.Node) (*state.Partition, error) { return d.lease(n, id.Partition) },
		Partitions: partitions, Committed: offsets, CloseStep: d.opts.closeStep,
	})
	w.tasks = append(w.tasks, t)
	if err == nil {
		t.Begin(w.number)
	}
	return err
}

// close gives up the tasks and what they have not committed.
func (w *worker) close() {
	for _, t := range w.tasks {
		t.Close()
	}
	w.tasks = nil
	w.out.abort()
}

// errCrash asks for a crash between two steps of a closing.
var errCrash = errors.New("crash between two steps of a closing")

// work processes what there is to read, and reports whether there was anything.
func (w *worker) work() (bool, error) {
	busy := false
	for _, t := range w.tasks {
		for _, in := range t.InputList() {
			log := w.d.broker.log(in.Topic, in.Partition)
			if from := in.Position() + int64(in.Queued()); from < log.end() {
				t.Add(in.Topic, log.read(in.Position()), log.end())
			}
		}
		for more := true; more; {
			before := t.Queued()
			var err error
			if more, err = t.Step(w.d.stepLimit()); err != nil {
				return busy, err
			}
			busy = busy || more || t.Queued() != before
			if !w.d.opts.between || !t.MayCommit() {
				continue
			}
			if _, err := w.commit(); err != nil {
				return busy, err
			}
			if t.Firing() && w.d.rng.IntN(4) == 0 {
				return true, errCrash
			}
		}
	}
	return busy, nil
}

// commit ends the interval, and reports whether anything was done in it.
func (w *worker) commit() (bool, error) {
	interval := checkpoint.Interval{
		Number: w.number, Log: &commitLog{producer: w.out}, Wall: func() int64 { return w.d.now },
		Controls: func() error { return w.controls.Write(w.tasks, w.d.now, w.out) },
	}
	for _, t := range w.tasks {
		interval.Tasks = append(interval.Tasks, t)
	}
	active, err := interval.Commit(context.Background())
	if err != nil {
		return false, fmt.Errorf("commit: %w", err)
	}
	w.number++
	for _, t := range w.tasks {
		w.d.count(t.TakeDrops())
		t.Begin(w.number)
	}
	if active {
		err = w.settle()
	}
	return active, err
}

// settle does what the engine does behind a commit, at times that the seed
// chooses: it writes rows to the state directory, makes room in caches and
// deletes what no restore needs.
func (w *worker) settle() error {
	d := w.d
	for _, t := range w.tasks {
		due, limit := w.number-1-d.rng.Int64N(3), 1+d.rng.IntN(64)
		if d.opts.cache >= 0 {
			due, limit = w.number, 1<<30
		}
		if d.opts.cache >= 0 || d.rng.IntN(2) == 0 {
			if _, err := t.WriteBehind(due, limit); err != nil {
				return err
			}
		}
		if d.opts.cache >= 0 {
			t.Evict(t.Bytes() - d.opts.cache)
		}
		t.NeededFrom(func(topic string, from int64) {
			log := d.broker.log(topic, t.ID.Partition)
			log.start = max(log.start, from)
		})
	}
	if d.rng.IntN(8) == 0 {
		return d.db.Checkpoint()
	}
	return nil
}
