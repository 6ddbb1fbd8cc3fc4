package watermark

import "fmt"

// Upstreams tracks the watermark of one partition of a repartition topic: the minimum over all tasks that may write to
// it, except those that are idle. It never goes back.
type Upstreams struct {
	merge *Merge
	heard []bool
}

// NewUpstreams returns the tracker of a partition that is fed by the given number of upstream tasks. Each of them stands
// at floor, the committed watermark of the reading task or None, until it is heard.
func NewUpstreams(tasks int, floor int64) *Upstreams {
	return &Upstreams{merge: NewMerge(tasks, floor), heard: make([]bool, tasks)} // floor holds, as committed watermarks do
}

// Hear takes what an upstream task says about itself into account. The watermark of an upstream never goes back: after a
// restart it may say less than before, and is held to the greater. It is an error, and changes nothing, if the
// number of upstream tasks is not that of the topology, or the task is none of them.
func (u *Upstreams) Hear(p Progress) error {
	tasks := len(u.heard)
	if int(p.Tasks) != tasks {
		return fmt.Errorf("watermark: upstream task %d says that it is one of %d tasks, the topology has %d; "+
			"another version of the program, or a source whose partition count has changed, writes to this topic", p.Task, p.Tasks, tasks)
	}
	if p.Task < 0 || int(p.Task) >= tasks {
		return fmt.Errorf("watermark: upstream task %d is not one of the topology's %d", p.Task, tasks)
	}
	i := int(p.Task)
	u.heard[i] = true
	u.merge.Set(i, max(p.Watermark, u.merge.inputs[i].watermark))
	u.merge.SetIdle(i, p.Idle)
	return nil
}

// Watermark returns the watermark of the partition. While all upstream tasks are idle it stays.
func (u *Upstreams) Watermark() int64 {
	return u.merge.Watermark()
}

// Idle reports whether all upstream tasks are idle.
func (u *Upstreams) Idle() bool {
	return u.merge.Idle()
}

// Holder returns the number of the upstream task that holds the others back, or -1 if all are idle, and whether anything
// has been heard from it.
func (u *Upstreams) Holder() (task int, heard bool) {
	task = u.merge.Holder()
	return task, task >= 0 && u.heard[task]
}
