package task

import (
	"cmp"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
)

// CloseStep is how many results a closing emits before the worker may commit,
// unless Config says otherwise.
const CloseStep = 10_000

// Add queues records of an input. end is the partition's end as the fetch
// reported it.
func (t *Task) Add(topic string, recs []*kgo.Record, end int64) {
	if in := t.Input(topic); in != nil {
		in.add(recs, end)
		in.got = in.got || len(recs) > 0
	}
}

// Queued is the number of records waiting.
func (t *Task) Queued() (n int) {
	for _, in := range t.inputs {
		n += in.Queued()
	}
	return n
}

// Step does some work: it processes up to limit records, or closes up to about
// CloseStep results, and reports whether more can be done now. An error ends
// the task; nothing it did since the last commit may be committed.
func (t *Task) Step(limit int) (more bool, err error) {
	defer t.caught(&err)
	for ; limit > 0; limit-- {
		if t.due() {
			return true, t.fire()
		}
		i := t.pick()
		if i < 0 {
			return false, nil
		}
		t.process(i)
		if t.ctx.Err != nil {
			return false, t.ctx.Err
		}
	}
	return t.due() || t.pick() >= 0, nil
}

// caught turns a panic of a user function, for which no policy was there, into
// an error that names the operator and the record.
func (t *Task) caught(err *error) {
	if p := recover(); p != nil {
		*err = &flow.RecordError{Operator: t.flow.Names[t.ctx.Operator], Where: t.ctx.Where(), Err: flow.Recovered(p)}
	}
}

// Ready reports whether Step would do something.
func (t *Task) Ready() bool { return t.due() || t.pick() >= 0 }

// Firing reports whether a closing was interrupted.
func (t *Task) Firing() bool { return t.firing }

// pick chooses the input whose next record is the oldest. With several inputs
// it waits for one that is empty but not at its end.
func (t *Task) pick() int {
	if len(t.inputs) == 1 {
		if t.inputs[0].Queued() > 0 {
			return 0
		}
		return -1
	}
	best, ts := -1, int64(0)
	for i, in := range t.inputs {
		if in.Queued() == 0 {
			if in.waits() {
				return -1
			}
			continue
		}
		if ms := in.peek().Timestamp.UnixMilli(); best < 0 || ms < ts {
			best, ts = i, ms
		}
	}
	return best
}

// process takes one record through the operators.
func (t *Task) process(i int) {
	in := t.inputs[i]
	r := in.pop()
	switch {
	case in.last >= 0 && r.Offset >= in.last: // beyond the end of a bounded run
		in.next = in.last
	case r.Attrs.IsControl(): // the end of somebody's transaction
	case in.Internal && isControl(r):
		if err := in.hear(r, t.cfg.Upstream(in.Topic)); err != nil {
			t.ctx.Fail(err)
			return
		}
		t.merge.SetIdle(i, in.up.Idle())
	default:
		if in.own != nil {
			t.ctx.Carried = in.own.Watermark()
		}
		ms, moves := in.source.Read(&t.ctx, r)
		if moves && in.own != nil {
			in.own.Observe(ms)
		}
		if in.strategy.IdleMs() > 0 && in.idle.Idle() {
			in.idle.Observe(t.cfg.Now(), in.next, true, false)
			t.merge.SetIdle(i, false)
		}
	}
	if !in.done {
		t.merge.Set(i, in.Watermark())
	}
	t.ended(i, in)
	t.advanced()
	if t.ctx.Err == nil { // a failure may still be told of the record
		t.ctx.Source = nil
		r.Recycle()
	}
}

// advanced notes that the watermark may have moved: where nothing is due, all
// that was due has been closed.
func (t *Task) advanced() {
	if w := t.merge.Watermark(); !t.firing && (w < t.deadline || t.deadline == math.MaxInt64) {
		t.fired, t.ctx.Fired = w, w
	}
}

// due reports whether something is to be closed.
func (t *Task) due() bool {
	return t.firing || t.deadline <= t.merge.Watermark() && t.deadline != math.MaxInt64
}

// fire closes what is due, upstream first, so that what a closing emits can
// still go into windows downstream.
func (t *Task) fire() error {
	w := t.merge.Watermark()
	t.firing = true
	for _, o := range t.ops {
		at := flow.Behind(w, o.hold)
		if !dueAt(o.Deadline(), at) && o.Resume() == math.MinInt64 {
			continue
		}
		for _, up := range o.first {
			if err := up.Flush(&t.ctx, t.interval, flow.Behind(w, up.hold)); err != nil {
				return fmt.Errorf("task %v: %w", t.ID, err)
			}
		}
		more, err := o.Fire(&t.ctx, at, cmp.Or(t.cfg.CloseStep, CloseStep))
		if err != nil {
			return fmt.Errorf("task %v: %w", t.ID, err)
		}
		if t.ctx.Err != nil {
			return t.ctx.Err
		}
		if more {
			return nil
		}
	}
	t.firing = false
	t.findDeadline()
	t.advanced()
	return nil
}

func dueAt(deadline, watermark int64) bool { return deadline <= watermark && deadline != math.MaxInt64 }

// findDeadline looks for the watermark at which something is due next.
func (t *Task) findDeadline() {
	t.deadline = math.MaxInt64
	for _, o := range t.ops {
		t.deadline = min(t.deadline, ahead(o.Deadline(), o.hold))
	}
}
