package task

import (
	"errors"
	"fmt"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

// A mark is what tells whether a task did anything since the last commit.
type mark struct {
	positions int64 // summed
	watermark int64
	fired     int64
	inputs    int64 // watermarks, mixed
}

func (t *Task) mark() mark {
	m := mark{watermark: t.merge.Watermark(), fired: t.fired}
	for _, in := range t.inputs {
		m.positions += in.next
		m.inputs = m.inputs*31 + in.Watermark()
	}
	return m
}

// Changed reports whether the task did anything since the last commit.
func (t *Task) Changed() bool { return t.firing || t.told || t.mark() != t.committed }

// Flush implements checkpoint.Participant. What one operator's updates change
// downstream is flushed after it.
func (t *Task) Flush(commit int64) (err error) {
	defer t.caught(&err)
	w := t.merge.Watermark()
	for _, o := range t.ops {
		if err := o.Flush(&t.ctx, commit, flow.Behind(w, o.hold)); err != nil {
			return fmt.Errorf("task %v: %w", t.ID, err)
		}
		if t.ctx.Err != nil {
			return t.ctx.Err
		}
	}
	return nil
}

// Begin starts an interval of that number: what is flushed in it, be it before
// the barrier, is known by it.
func (t *Task) Begin(commit int64) { t.interval = commit }

// Offsets implements checkpoint.Participant. Where a task did anything, all its
// inputs are committed, moved or not: the group's generation then fences it.
func (t *Task) Offsets() ([]checkpoint.Offset, error) {
	if !t.Changed() {
		return nil, nil
	}
	at := t.resting()
	offsets := make([]checkpoint.Offset, 0, len(t.inputs))
	for _, in := range t.inputs {
		m := checkpoint.Meta{Partition: watermark.None, Task: at, Fired: min(t.fired, at)}
		if in.own != nil {
			m.Partition = in.own.Watermark()
		}
		if t.firing {
			for _, o := range t.ops {
				p := o.Progress()
				m.Stores = append(m.Stores, checkpoint.StoreProgress{Store: o.node.Name, Closed: p.Closed, After: p.After})
			}
		}
		offsets = append(offsets, checkpoint.Offset{Topic: in.Topic, Partition: in.Partition, Offset: in.next, Meta: m})
	}
	return offsets, nil
}

// Told says that a control record of the task is in the transaction, which its
// offsets must therefore fence.
func (t *Task) Told() { t.told = true }

// MayCommit reports whether the task's position fits into offset metadata. A
// closing that was interrupted at a very long key must go on first.
func (t *Task) MayCommit() bool {
	if !t.firing {
		return true
	}
	offsets, err := t.Offsets()
	if err != nil {
		return false
	}
	for _, o := range offsets {
		if _, err := o.Meta.Encode(); errors.Is(err, checkpoint.ErrMetaTooLong) {
			return false
		}
	}
	return true
}

// resting is the task's watermark as it is committed. At the end of a bounded
// run time stands where the last window closed, so that a run that follows can
// open new ones; or where the window is closed that is being closed.
func (t *Task) resting() int64 {
	w := t.merge.Watermark()
	if w != watermark.Infinite {
		return w
	}
	w = watermark.None
	for _, in := range t.inputs {
		if in.own != nil {
			w = max(w, in.own.Watermark())
		}
	}
	for _, o := range t.ops {
		if c := o.Progress().Closed; c != watermark.None {
			w = max(w, ahead(c, o.hold))
		}
		if r := o.Resume(); r != watermark.None {
			w = max(w, ahead(r, o.hold))
		}
	}
	return w
}

// Committed implements checkpoint.Participant.
func (t *Task) Committed(commit, wall int64) {
	t.committed, t.told = t.mark(), false
	for _, o := range t.ops {
		o.Committed(commit, state.Position{Offset: max(t.cfg.Out.End(o.log.topic, t.ID.Partition), 0), Wall: wall})
	}
}

// WriteBehind writes up to limit rows that have waited since commit due to
// Pebble, and returns how many. Nothing may be dirty.
func (t *Task) WriteBehind(due int64, limit int) (int, error) {
	n := 0
	for _, o := range t.ops {
		wrote, err := o.WriteBehind(due, limit-n)
		if n += wrote; err != nil || n >= limit {
			return n, err
		}
	}
	return n, nil
}

// Unwritten is the number of committed rows that Pebble does not hold.
func (t *Task) Unwritten() (n int) {
	for _, o := range t.ops {
		n += o.Unwritten()
	}
	return n
}

// Bytes is about the memory that the task's caches take.
func (t *Task) Bytes() (n int64) {
	for _, o := range t.ops {
		n += o.Bytes()
	}
	return n
}

// Dirty is the number of rows changed since the last barrier.
func (t *Task) Dirty() (n int) {
	for _, o := range t.ops {
		n += o.Dirty()
	}
	return n
}

// Evict frees up to n bytes of the task's caches, and returns how many.
func (t *Task) Evict(n int64) (freed int64) {
	for _, o := range t.ops {
		if freed < n {
			freed += o.Evict(n - freed)
		}
	}
	return freed
}

// TakeDrops returns the drops of the interval, by operator and reason, and
// starts anew.
func (t *Task) TakeDrops() map[flow.DropKey]int64 {
	d := t.flow.Drops
	t.flow.Drops = map[flow.DropKey]int64{}
	return d
}

// NeededFrom calls f with each changelog topic that only its head's removal
// shortens, and the first offset that is still needed after the last commit. At
// the end of a bounded run that is what a run that follows needs.
func (t *Task) NeededFrom(f func(topic string, from int64)) {
	fired := min(t.committed.fired, t.resting())
	for _, o := range t.ops {
		if from, ok := o.NeededFrom(flow.Behind(fired, o.hold)); ok {
			f(o.log.topic.Name, from)
		}
	}
}

// Rows calls f with every row of the store of that name, as the open
// transaction sees it, and reports whether the task has the store.
func (t *Task) Rows(store string, f func(key any, w window.Span, value any) bool) (bool, error) {
	for _, o := range t.ops {
		if o.node.Name == store {
			return true, o.Each(f)
		}
	}
	return false, nil
}
