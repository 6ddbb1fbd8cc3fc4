package streamtest

import (
	"time"

	"github.com/weirstream/weir/internal/task"
)

// Advance moves event time to at, as records on all partitions of all sources
// would: windows close. It never moves time back. It commits.
func (d *Driver) Advance(at time.Time) {
	d.t.Helper()
	ms := at.UnixMilli()
	d.advancing = &ms
	d.urge()
	d.commit()
	d.advancing = nil
	d.crashIfDue()
}

// Sleep moves the engine's clock by p without a record: sources fall idle, and
// time runs on where the strategy says so. It commits.
func (d *Driver) Sleep(p time.Duration) {
	d.t.Helper()
	end := d.now + p.Milliseconds()
	for i := int64(0); d.now < end && d.stopped == nil; i++ {
		d.now = min(end, d.now+d.tick(i, p))
		for _, t := range d.tasks() {
			t.Tick(d.now, false, func(topic string, partition int32) {
				t.Answer(topic, d.now, d.broker.log(topic, partition).end())
			})
		}
		d.commit()
	}
	d.crashIfDue()
}

// tick is how far the clock moves before the engine looks at it the i-th time.
// The engine looks a few times in every idle timeout; a long sleep need not be so
// fine throughout.
func (d *Driver) tick(i int64, p time.Duration) int64 {
	fine, longest := int64(100), int64(0)
	for _, n := range d.plan.Nodes {
		if n.Reader == nil || n.Reader.Strategy.IdleMs() == 0 {
			continue
		}
		fine = min(fine, max(1, n.Reader.Strategy.IdleMs()/10))
		longest = max(longest, n.Reader.Strategy.IdleMs())
	}
	if i*fine <= 2*longest {
		return fine
	}
	return max(fine, p.Milliseconds()/100)
}

// Finish ends the input, as App.RunUntilEnd does at the end of all topics:
// everything that is still open closes. Records sent afterwards are read after a
// Crash only.
func (d *Driver) Finish() {
	d.t.Helper()
	d.bounded = true
	d.urge()
	d.commit()
}

// urge tells tasks what no record says: where their input ends, if it has, and
// what time it is, if that is being moved.
func (d *Driver) urge() {
	for _, t := range d.tasks() {
		if d.bounded {
			t.Bound(func(topic string, partition int32) int64 { return d.broker.log(topic, partition).end() })
		}
		if d.advancing != nil {
			t.Advance(*d.advancing)
		}
	}
}

func (d *Driver) tasks() (all []*task.Task) {
	for _, w := range d.workers {
		all = append(all, w.tasks...)
	}
	return all
}
