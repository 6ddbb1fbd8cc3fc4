package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/assign"
	"github.com/weirstream/weir/internal/client"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/restore"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/state"
)

// An opened is a task whose state is restored: all that it takes to start it.
type opened struct {
	held    *held // that it was opened for
	grant   assign.Grant
	offsets []checkpoint.Offset // by input
	fresh   bool                // nothing was committed yet: the offsets are where to begin
	ends    []int64             // by input
	leases  map[int]*state.Partition
	err     error
}

func (o *opened) release() {
	for _, p := range o.leases {
		p.Release()
	}
}

// reconcile makes the tasks those that the group has given to the worker. No
// interval may be under way.
func (w *Worker) reconcile(ctx context.Context) error {
	owned := w.balancer.Owned()
	if owned.Seq == w.seq && len(w.tasks) == len(owned.Tasks) {
		return nil
	}
	var topology *assign.TopologyError
	if errors.As(owned.Err, &topology) {
		return topology
	}
	w.seq = owned.Seq
	want := map[task.ID]assign.Grant{}
	for _, g := range owned.Tasks {
		want[task.ID(g.Task)] = g
	}
	for id, h := range w.tasks {
		if g, ok := want[id]; !ok || g.Since != h.grant.Since {
			w.drop(id)
		}
	}
	for id, g := range want {
		if w.tasks[id] == nil {
			w.begin(ctx, g, 0)
		}
	}
	return nil
}

// begin opens a task in the background, while others run, after a while.
func (w *Worker) begin(ctx context.Context, g assign.Grant, after time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	h := &held{grant: g, cancel: cancel}
	w.tasks[task.ID(g.Task)] = h
	w.opening.Add(1)
	cl, parts := w.client, w.balancer.Partitions(g.Task)
	go func() {
		defer w.opening.Done()
		if sleep(ctx, after) != nil {
			return
		}
		o := w.open(ctx, g)
		o.held = h
		// The balancer knows of the task before the client has taken its
		// partitions over, and paused them.
		if err := cl.AwaitAssigned(ctx, parts); o.err == nil {
			o.err = err
		}
		select {
		case w.opened <- o:
			w.wake()
		case <-ctx.Done():
			o.release()
		}
	}()
}

// open leases a task's stores, asks what was committed, and restores.
func (w *Worker) open(ctx context.Context, g assign.Grant) opened {
	o := opened{grant: g, leases: map[int]*state.Partition{}}
	select {
	case w.cfg.Opening <- struct{}{}:
		defer func() { <-w.cfg.Opening }()
	case <-ctx.Done():
		o.err = ctx.Err()
		return o
	}
	id := task.ID(g.Task)
	var stores []restore.Store
	for _, n := range w.cfg.Plan.Subs[id.Sub].Stores {
		part, err := w.lease(ctx, n, id.Partition)
		if err != nil {
			o.err = err
			return o
		}
		o.leases[n.ID] = part
		stores = append(stores, restore.Store{Topic: w.cfg.Plan.ChangelogTopic(n), Part: part, Sessions: n.Store.Kind == "session"})
	}
	if o.err = w.committed(ctx, id, &o, stores); o.err != nil {
		return o
	}
	o.err = w.cfg.Restorer.Restore(ctx, stores)
	return o
}

// lease waits for the partition of a store until the instance's former owner
// has given it up.
func (w *Worker) lease(ctx context.Context, n *graph.Node, partition int32) (*state.Partition, error) {
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	for {
		part, err := w.cfg.DB.Lease(*n.Store, partition)
		if !errors.Is(err, state.ErrLeased) {
			return part, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
		}
	}
}

// committed finds where each input of a task goes on.
func (w *Worker) committed(ctx context.Context, id task.ID, o *opened, stores []restore.Store) error {
	inputs := task.Inputs(w.cfg.Plan, id, w.cfg.Layout.Partitions)
	parts, names := map[string][]int32{}, []string{}
	for _, in := range inputs {
		parts[in.Topic] = []int32{id.Partition}
		names = append(names, in.Topic)
	}
	got, err := client.Committed(ctx, w.client.Kgo(), w.cfg.Catalog, w.cfg.Client.Group, parts)
	if err != nil {
		return err
	}
	starts, serr := w.cfg.Admin.ListStartOffsets(ctx, names...)
	ends, eerr := w.cfg.Admin.ListCommittedOffsets(ctx, names...)
	for _, in := range inputs {
		at := got[in.Topic][id.Partition]
		start, serr := offsetOf(starts, serr, in.Topic, id.Partition)
		end, eerr := offsetOf(ends, eerr, in.Topic, id.Partition)
		if err := cmp.Or(serr, eerr); err != nil {
			return fmt.Errorf("topic %s, partition %d: cannot read its bounds: %w", in.Topic, id.Partition, err)
		}
		switch {
		case at.Offset < 0:
			if at.Offset, err = w.beginning(ctx, id, in, start, stores); err != nil {
				return err
			}
			o.fresh = true
		case at.Offset > end && at.Offset > w.highWatermark(ctx, in):
			return fmt.Errorf("group %s: topic %s, partition %d: offset %d was committed, and the log ends before it: "+
				"the topic was deleted and made again, or lost records; reset the application", w.cfg.Client.Group, in.Topic, id.Partition, at.Offset)
		case at.Offset < start:
			return fmt.Errorf("group %s: topic %s, partition %d: offset %d was committed, and the log begins at %d: "+
				"records were deleted before they were processed; reset the application, or its offsets, knowing what is lost",
				w.cfg.Client.Group, in.Topic, id.Partition, at.Offset, start)
		}
		o.offsets = append(o.offsets, at)
		o.ends = append(o.ends, end)
	}
	return nil
}

// highWatermark is where a partition ends, open transactions included; MaxInt64
// if that cannot be told now.
func (w *Worker) highWatermark(ctx context.Context, in *task.Input) int64 {
	ends, err := w.cfg.Admin.ListEndOffsets(ctx, in.Topic)
	end, err := offsetOf(ends, err, in.Topic, in.Partition)
	if err != nil {
		return math.MaxInt64
	}
	return end
}

// start begins to run a task that was opened.
func (w *Worker) start(ctx context.Context, o opened) error {
	id := task.ID(o.grant.Task)
	h := w.tasks[id]
	if h == nil || h != o.held || h.task != nil {
		o.release() // it was taken away meanwhile, and may have been given again
		return nil
	}
	if o.err == nil && o.fresh {
		f := client.Fence{Client: w.client, Grants: []assign.Grant{o.grant}}
		o.err = f.CommitNow(ctx, o.offsets)
	}
	if o.err != nil {
		o.release()
		return w.failedToOpen(ctx, id, h, o.err)
	}
	t, err := task.New(task.Config{
		ID: id, Plan: w.cfg.Plan, Out: w.client.Outputs(), Now: func() int64 { return time.Now().UnixMilli() },
		Sleep: func(ms int64) error { return sleep(ctx, time.Duration(ms)*time.Millisecond) }, Upstream: w.upstream,
		Lease:      func(n *graph.Node) (*state.Partition, error) { return o.leases[n.ID], nil },
		Partitions: w.cfg.Layout.Partitions, Committed: o.offsets,
	})
	if err != nil {
		o.release()
		return err
	}
	at := map[string]map[int32]int64{}
	for i, in := range t.InputList() {
		at[in.Topic] = map[int32]int64{in.Partition: o.offsets[i].Offset}
		t.Add(in.Topic, nil, o.ends[i])
	}
	if w.cfg.Bounded != nil {
		t.Bound(w.cfg.Bounded)
	}
	t.Begin(w.interval + 1)
	h.task = t
	w.cfg.Metrics.Started(t)
	w.running = append(w.running, t)
	w.client.Resume(at)
	w.cfg.Log.Info("task runs", "task", id, "worker", w.cfg.Client.Instance, "watermark", t.Watermark())
	return nil
}

// failedToOpen tells errors that pass from those that do not.
func (w *Worker) failedToOpen(ctx context.Context, id task.ID, h *held, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	if !passes(err) {
		return fmt.Errorf("task %v cannot start: %w", id, err)
	}
	w.cfg.Log.Warn("a task could not start; trying again", "task", id, "error", err)
	h.cancel()
	grant := h.grant
	delete(w.tasks, id)
	if w.balancer.Owned().Holds(grant) {
		w.begin(ctx, grant, 100*time.Millisecond)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// drop gives a task up. What it did since the last commit is lost.
func (w *Worker) drop(id task.ID) {
	h := w.tasks[id]
	delete(w.tasks, id)
	h.cancel()
	if h.task == nil {
		return
	}
	w.cfg.Log.Info("task stops", "task", id, "worker", w.cfg.Client.Instance)
	parts := map[string][]int32{}
	for _, in := range h.task.InputList() {
		parts[in.Topic] = append(parts[in.Topic], in.Partition)
	}
	w.client.Pause(parts)
	w.cfg.Metrics.Stopped(h.task)
	h.task.Close()
	for i, t := range w.running {
		if t == h.task {
			w.running = append(w.running[:i], w.running[i+1:]...)
			break
		}
	}
}

func (w *Worker) dropAll() {
	for id := range w.tasks {
		w.drop(id)
	}
}

// closeAll gives all tasks up for good, and waits until nothing opens any more:
// the state may then be closed.
func (w *Worker) closeAll() {
	w.dropAll()
	w.opening.Wait()
	for {
		select {
		case o := <-w.opened:
			o.release()
		default:
			return
		}
	}
}
