package worker

import (
	"time"

	"github.com/weirstream/weir/checkpoint"
)

// upkeep does what a commit makes possible: committed rows that have waited for
// long are written to Pebble, caches are kept within their budget, and what is
// not needed any more is deleted from internal topics.
func (w *Worker) upkeep() error {
	if err := w.writeBehind(); err != nil {
		return err
	}
	w.purge()
	return w.cfg.Hook.Reach(checkpoint.DuringWrite)
}

// writeStep is the fewest rows that are written after a commit, if so many are
// due.
const writeStep = 2000

// writeBehind writes some of the rows that are due. Rows are due after half the
// checkpoint age; the flush of Pebble that makes them durable takes the rest.
func (w *Worker) writeBehind() error {
	if err := w.cfg.Hook.Reach(checkpoint.BeforeWrite); err != nil {
		return err
	}
	before := time.Now().Add(-w.cfg.CheckpointAge / 2)
	due, n := int64(0), 0
	for n < len(w.marks) && w.marks[n].at.Before(before) {
		due = w.marks[n].number
		n++
	}
	var unwritten, bytes int64
	for _, t := range w.running {
		unwritten += int64(t.Unwritten())
		bytes += t.Bytes()
	}
	limit := writeStep + int(unwritten*int64(w.cfg.CommitInterval)/int64(w.cfg.CheckpointAge/4+1))
	if pressed := bytes > w.cfg.CacheBytes; pressed { // what is not written cannot be evicted
		due, limit = w.interval, limit+int(unwritten/4)
	}
	left := limit
	for _, t := range w.running {
		wrote, err := t.WriteBehind(due, max(left, 1))
		if err != nil {
			return err
		}
		left -= wrote
	}
	if left > 0 && n > 0 {
		w.marks = append(w.marks[:0], w.marks[n-1:]...)
	}
	w.evict(bytes)
	return nil
}

// evict keeps the caches within their budget.
func (w *Worker) evict(bytes int64) {
	over := bytes - w.cfg.CacheBytes*9/10
	if bytes <= w.cfg.CacheBytes || over <= 0 {
		return
	}
	for _, t := range w.running {
		if share := int64(float64(over) * float64(t.Bytes()) / float64(max(bytes, 1))); share > 0 {
			t.Evict(share)
		}
	}
}

// writeAll writes all committed rows, before a stop.
func (w *Worker) writeAll() error {
	for _, t := range w.running {
		for {
			n, err := t.WriteBehind(w.interval, 10*writeStep)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
	}
	return nil
}

// ended reports whether the task of a bounded run has come to its end.
func (h *held) ended() bool { return h.task != nil && h.task.Done() }

// report shows others what the worker is doing.
func (w *Worker) report() {
	s := State{Assigned: w.balancer.Owned().Generation >= 0, Tasks: len(w.tasks), Running: len(w.running)}
	for id, h := range w.tasks {
		// What changes a task after its end are control records. They come as often
		// as others commit: who waited for quiet might wait for ever.
		if h.done = h.done || h.ended() && !h.task.Changed(); h.done {
			s.Done++
		}
		if h.task == nil {
			s.Waits = "task " + id.String() + " to be restored"
		}
	}
	if !s.Assigned {
		s.Waits = "the group"
	}
	w.state.Store(&s)
	w.cfg.Metrics.Observe(w.running, len(w.tasks))
}
