package worker

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/assign"
	"github.com/weirstream/weir/internal/client"
)

// clean reports whether nothing was done since the last commit.
func (w *Worker) clean() bool {
	if !w.began.IsZero() || w.client.Sent() > 0 {
		return false
	}
	for _, t := range w.running {
		if t.Changed() {
			return false
		}
	}
	return true
}

// commitDue reports whether the interval is to end now.
func (w *Worker) commitDue() bool {
	if w.client.Err() != nil {
		return true // it cannot be committed: the sooner it is dropped the better
	}
	if w.clean() {
		return w.controls.Due(w.running, time.Now().UnixMilli())
	}
	if w.began.IsZero() {
		w.began = time.Now()
	}
	if w.ending() {
		return true
	}
	age := time.Since(w.began)
	return age >= w.cfg.CommitInterval || age >= w.cfg.Client.TransactionTimeout/4 || w.hurry.Load() ||
		w.client.Buffered() > w.cfg.Client.BufferBytes/4 || w.dirtyBytes() > w.cfg.CacheBytes/4 || w.balancer.Owned().Seq != w.seq
}

// ending reports whether a task of a bounded run has come to its end since the
// last commit. Others wait to hear of it.
func (w *Worker) ending() bool {
	if w.cfg.Bounded == nil {
		return false
	}
	for _, h := range w.tasks {
		if h.ended() && !h.done && h.task.Changed() {
			return true
		}
	}
	return false
}

// dirtyBytes is about what the rows take that changed since the last commit.
func (w *Worker) dirtyBytes() (n int64) {
	const each = 256
	for _, t := range w.running {
		n += int64(t.Dirty()) * each
	}
	return n
}

// commit ends the interval.
func (w *Worker) commit(ctx context.Context) error {
	for _, t := range w.running {
		for !t.MayCommit() {
			if _, err := t.Step(stepRecords); err != nil {
				return err
			}
		}
	}
	grants := make([]assign.Grant, 0, len(w.running))
	parts := make([]checkpoint.Participant, 0, len(w.running))
	for _, t := range w.running {
		parts = append(parts, t)
		grants = append(grants, w.tasks[t.ID].grant)
		if t.Firing() {
			if err := w.cfg.Hook.Reach(checkpoint.BetweenClosing); err != nil {
				return err
			}
		}
	}
	began := time.Now()
	i := checkpoint.Interval{
		Number: w.interval + 1, Tasks: parts, Log: client.Fence{Client: w.client, Grants: grants}, Hook: w.cfg.Hook,
		Controls: func() error {
			return w.controls.Write(w.running, time.Now().UnixMilli(), w.client.Outputs())
		},
		Wall: func() int64 { return time.Now().UnixMilli() },
	}
	did, err := i.Commit(ctx)
	if err != nil {
		return err
	}
	w.interval++
	w.fences = 0
	w.cfg.Metrics.Out.Add(float64(w.client.TakeCommitted()))
	if did {
		w.cfg.Metrics.Committed(time.Since(began))
		w.marks = append(w.marks, commitMark{w.interval, time.Now()})
	}
	for _, t := range w.running {
		t.Begin(w.interval + 1)
		w.cfg.Metrics.Count(t)
	}
	w.began = time.Time{}
	return nil
}

// commitOrReset ends the interval, or drops it and opens the tasks anew.
func (w *Worker) commitOrReset(ctx context.Context) error {
	// A stop does not interrupt a commit at once: it would be in doubt.
	cctx, cancel := context.WithTimeout(w.lasting, w.cfg.Client.TransactionTimeout)
	err := w.commit(cctx)
	cancel()
	var failed *checkpoint.NotCommittedError
	switch {
	case err == nil:
		if err := w.upkeep(); err != nil {
			return err
		}
		if err := w.reconcile(ctx); err != nil {
			return err
		}
		w.allow()
		return nil
	case errors.As(err, &failed):
		return w.reset(ctx, failed)
	default:
		return err
	}
}

// reset drops an interval that was not committed, or may not have been: it
// settles the doubt, and opens all tasks anew from what Kafka says. The store
// was never touched by what was not committed.
func (w *Worker) reset(ctx context.Context, because *checkpoint.NotCommittedError) error {
	if ctx.Err() != nil {
		return because // stopping: it is not to be committed again
	}
	w.cfg.Log.Warn("the interval is dropped; going on from the last commit", "worker", w.cfg.Client.Instance, "error", because)
	w.cfg.Metrics.Aborts.Inc()
	if errors.Is(because, kerr.ProducerFenced) || errors.Is(because, kerr.FencedInstanceID) {
		w.fences++
	}
	if fatal := permanent(because); fatal != nil {
		return fatal
	}
	w.dropAll()
	actx, cancel := context.WithTimeout(w.lasting, w.cfg.Client.TransactionTimeout)
	defer cancel()
	if err := w.client.Abort(actx); err != nil {
		return &errRebuild{errors.Join(because, err)}
	}
	w.resetInterval()
	w.controls = w.newControls()
	w.seq = 0
	if err := w.reconcile(ctx); err != nil {
		return err
	}
	w.allow()
	return nil
}

func (w *Worker) resetInterval() {
	w.began = time.Time{}
	w.marks = nil
}
