package task

import (
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/watermark"
)

// Tick looks at the clock: it finds inputs that may be idle, and lets time run
// on where the strategy says so. For each input whose end must be asked for, ask
// is called; the answer goes to Answer.
func (t *Task) Tick(nowMs int64, paused bool, ask func(topic string, partition int32)) {
	for i, in := range t.inputs {
		if in.Internal || in.strategy.IdleMs() == 0 || in.done {
			continue
		}
		if in.idle.Observe(nowMs, in.next, in.got || in.Queued() > 0, paused) {
			ask(in.Topic, in.Partition)
		}
		in.got = false
		t.merge.SetIdle(i, in.idle.Idle())
	}
	t.runOn(nowMs)
	t.advanced()
}

// Answer tells where an input ended when it was asked.
func (t *Task) Answer(topic string, sentAtMs, end int64) {
	in := t.Input(topic)
	if in == nil || in.Internal {
		return
	}
	in.end = max(in.end, end)
	in.idle.Answer(sentAtMs, end, in.next)
	for i := range t.inputs {
		if t.inputs[i] == in {
			t.merge.SetIdle(i, in.idle.Idle())
		}
	}
	t.advanced()
}

// runOn lets event time run with the clock while all inputs are idle, if all of
// them want that.
func (t *Task) runOn(nowMs int64) {
	advances := true
	for _, in := range t.inputs {
		advances = advances && !in.Internal && in.strategy.Advances() && in.Idle()
	}
	switch {
	case !advances:
		t.idleSince = watermark.None
	case t.idleSince == watermark.None:
		t.idleSince, t.idleAt = nowMs, t.merge.Watermark()
	case t.idleAt != watermark.None && t.idleAt != watermark.Infinite:
		t.merge.Advance(t.idleAt + nowMs - t.idleSince)
	}
}

// Idle reports whether all inputs are idle, and time does not run on. It cannot
// where there was no record yet to say what time it is.
func (t *Task) Idle() bool {
	for _, in := range t.inputs {
		if !in.Idle() {
			return false
		}
	}
	return t.idleSince == watermark.None || t.idleAt == watermark.None
}

// Bound makes this a bounded run: each source partition ends at its offset of
// ends. When all inputs have ended, time is at its end, and everything closes.
func (t *Task) Bound(end func(topic string, partition int32) int64) {
	for i, in := range t.inputs {
		if in.Internal {
			continue
		}
		in.last = end(in.Topic, in.Partition)
		t.ended(i, in)
	}
	t.advanced()
}

// Advance moves the watermarks of the source partitions on to ms, as records
// can. It is how a test moves event time without a record.
func (t *Task) Advance(ms int64) {
	internal := false
	for i, in := range t.inputs {
		if internal = internal || in.Internal; !in.Internal && ms > in.own.Watermark() {
			in.own.Restore(ms)
			t.merge.Set(i, ms)
		}
	}
	if !internal && t.merge.Idle() {
		t.merge.Advance(ms)
	}
	t.advanced()
}

// ended notes that a bounded run has read an input to its end.
func (t *Task) ended(i int, in *Input) {
	if in.last >= 0 && in.next >= in.last && !in.done {
		in.done = true
		t.merge.Set(i, watermark.Infinite)
	}
}

// Done reports whether a bounded run of the task is over.
func (t *Task) Done() bool { return t.merge.Watermark() == watermark.Infinite && !t.due() }

// Progress returns what a control record says of the task at a repartition
// topic that it writes.
func (t *Task) Progress(node int, tasks int32) watermark.Progress {
	return watermark.Progress{
		Task: t.ID.Partition, Tasks: tasks, Watermark: flow.Behind(t.fired, t.sub.Holds[node]), Idle: t.Idle(),
	}
}
