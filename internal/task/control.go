package task

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/watermark"
)

// Controls writes the control records of one worker: what its tasks say about
// their event time to those that read the repartition topics they write. It
// remembers what it wrote in transactions that were committed; after one that
// was not, a new Controls takes its place.
type Controls struct {
	plan     *graph.Plan
	upstream func(topic string) int32
	every    int64
	said     map[string]*said // by topic
}

// said is what a topic was told last.
type said struct {
	at    int64 // on the engine's clock, ms
	tasks []watermark.Progress
}

// The times of control records, in ms of the engine's clock.
const (
	ControlEvery   = 200  // how often a change of watermark or idleness is told, at most
	ControlAtLeast = 5000 // how often control records are written, changes or not
)

// NewControls returns the Controls of a worker that has written nothing yet.
// upstream is the number of tasks that write a repartition topic. Changes are
// told at most every so many ms, as ControlEvery.
func NewControls(p *graph.Plan, upstream func(topic string) int32, every int64) *Controls {
	return &Controls{plan: p, upstream: upstream, every: every, said: map[string]*said{}}
}

// Due reports whether Write would write something: a task is new, a watermark
// or an idleness has changed, or the last control record is old.
func (c *Controls) Due(tasks []*Task, nowMs int64) bool {
	due := false
	c.each(tasks, func(topic string, writers []*Task, ps []watermark.Progress) {
		due = due || c.due(topic, ps, nowMs)
	})
	return due
}

// Write writes the control records that are due in the open transaction, one to
// each partition of each topic, behind all records of tasks, and tells the tasks
// named in them that they have a part in it. It is called when the tasks have
// been flushed and before their offsets are asked for. tasks are all tasks of
// the worker, in any order.
func (c *Controls) Write(tasks []*Task, nowMs int64, out Output) error {
	var failed error
	c.each(tasks, func(name string, writers []*Task, ps []watermark.Progress) {
		if failed != nil || !c.due(name, ps, nowMs) {
			return
		}
		topic, err := out.Topic(name)
		if err != nil {
			failed = fmt.Errorf("control records: %w", err)
			return
		}
		value := watermark.AppendControl(nil, ps)
		for p := range topic.Partitions {
			out.Send(topic, p, nil, value, max(nowMs, 0), []kgo.RecordHeader{{Key: ControlHeader}})
		}
		for _, t := range writers {
			t.Told()
		}
		c.said[name] = &said{nowMs, ps}
	})
	return failed
}

// each calls f with every repartition topic that tasks write, which of them do,
// and what each of those says.
func (c *Controls) each(tasks []*Task, f func(topic string, writers []*Task, ps []watermark.Progress)) {
	for _, sub := range c.plan.Subs {
		if len(sub.Repartitions) == 0 {
			continue
		}
		var writers []*Task
		for _, t := range tasks {
			if t.ID.Sub == sub.ID {
				writers = append(writers, t)
			}
		}
		if len(writers) == 0 {
			continue
		}
		slices.SortFunc(writers, func(a, b *Task) int { return int(a.ID.Partition - b.ID.Partition) })
		for _, n := range sub.Repartitions {
			topic := c.plan.RepartitionTopic(n)
			ps := make([]watermark.Progress, 0, len(writers))
			for _, t := range writers {
				ps = append(ps, t.Progress(n.ID, c.upstream(topic)))
			}
			f(topic, writers, ps)
		}
	}
}

// due reports whether ps is to be said to the topic now.
func (c *Controls) due(topic string, ps []watermark.Progress, nowMs int64) bool {
	last := c.said[topic]
	if last == nil || nowMs < last.at || nowMs-last.at >= ControlAtLeast {
		return true
	}
	changed := false
	for _, p := range ps {
		i := slices.IndexFunc(last.tasks, func(q watermark.Progress) bool { return q.Task == p.Task })
		if i < 0 {
			return true // the task has started since
		}
		changed = changed || last.tasks[i] != p
	}
	return changed && nowMs-last.at >= c.every
}
