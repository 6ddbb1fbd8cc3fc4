// Package model says what windows must come out of a sequence of records, in the
// plainest way there is: every window and every record is looked at each time.
// It shares no code with the engine, so that a mistake in one is not repeated in
// the other, and is what the engine is compared with.
package model

import (
	"cmp"
	"slices"
)

// Windows are fixed windows, or sessions if Gap is positive. All are in ms.
type Windows struct {
	Size, Advance, Offset int64
	Gap                   int64
	Grace                 int64
}

// A Setup is how a topology reads its records.
type Setup struct {
	Windows
	Partitions int
	Bound      int64 // of the watermarks, ms
	// Idle is the idle timeout on the clock, ms; 0: none. The engine looks at the
	// clock every tenth of it, and silence begins at the first look after a record.
	Idle int64
	// Regrouped puts a repartition topic in between: all partitions then make up
	// one watermark, and a key is one wherever its records come from. Without it
	// every partition is on its own.
	Regrouped bool
}

// A Kind is what happens in an Event.
type Kind int

// The kinds of events.
const (
	Record  Kind = iota // a record is written
	Advance             // event time moves on to Time in all partitions
	Sleep               // the clock moves by Time
	Restart             // the process starts again: it has to find out anew what is idle
)

// An Event is one step of a run.
type Event struct {
	Kind      Kind
	Partition int
	Key       string
	Time      int64
	ID        int // of the record
}

// A Window is one window of a key with the records in it.
type Window struct {
	Partition  int // -1 if regrouped
	Key        string
	Start, End int64 // [Start, End)
	IDs        []int // in the order in which they came
}

// An Outcome is what a run comes to.
type Outcome struct {
	Finals []Window // closed ones, by end, key and start
	Open   []Window // the others, likewise
	Late   []int    // records that went into no window
	Missed int64    // windows that records were too late for
	// Stalled says that all partitions were idle at once. Where time then stands
	// depends on which was last, and the rest of the outcome means nothing.
	Stalled bool
}

const never = -1 << 60

// A run is the state of a model.
type run struct {
	Setup
	Outcome
	now        int64
	watermarks []int64 // of partitions
	silent     []int64 // since when, on the clock
	idle       []bool
	reached    []int64 // the watermark that windows close at, by partition; one if regrouped
}

// Run returns what the events come to. With end, time then goes on for ever and
// everything closes.
func Run(s Setup, events []Event, end bool) Outcome {
	r := &run{Setup: s}
	for range s.Partitions {
		r.watermarks, r.reached = append(r.watermarks, never), append(r.reached, never)
		r.silent, r.idle = append(r.silent, 0), append(r.idle, false)
	}
	for _, e := range events {
		r.step(e)
		r.close()
	}
	if end {
		for i := range r.reached {
			r.reached[i] = -never
		}
		r.close()
	}
	byEnd := func(a, b Window) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Partition, b.Partition))
	}
	slices.SortStableFunc(r.Finals, byEnd)
	slices.SortStableFunc(r.Open, byEnd)
	return r.Outcome
}

func (r *run) step(e Event) {
	switch e.Kind {
	case Record:
		if r.Gap > 0 {
			r.session(e)
		} else {
			r.fixed(e)
		}
		r.watermarks[e.Partition] = max(r.watermarks[e.Partition], e.Time-r.Bound)
		r.silent[e.Partition], r.idle[e.Partition] = r.now+r.Idle/10, false
	case Advance:
		for i := range r.watermarks {
			r.watermarks[i] = max(r.watermarks[i], e.Time)
		}
	case Sleep:
		r.now += e.Time
		for i := range r.idle {
			r.idle[i] = r.Idle > 0 && r.now-r.silent[i] >= r.Idle
		}
	case Restart:
		for i := range r.idle {
			r.idle[i], r.silent[i] = false, r.now
		}
	}
	r.reach()
}

// reach moves the watermarks at which windows close.
func (r *run) reach() {
	if !r.Regrouped {
		copy(r.reached, r.watermarks)
		return
	}
	least, any := int64(-never), false
	for i, w := range r.watermarks {
		if !r.idle[i] {
			least, any = min(least, w), true
		}
	}
	if r.Stalled = r.Stalled || !any; any {
		for i := range r.reached {
			r.reached[i] = max(r.reached[i], least)
		}
	}
}

// group is the partition of a record's windows.
func (r *run) group(e Event) int {
	if r.Regrouped {
		return -1
	}
	return e.Partition
}

// deadline is the least watermark at which a window is closed.
func (r *run) deadline(w Window) int64 {
	if r.Gap > 0 {
		return w.End - 1 + r.Gap + r.Grace + 1
	}
	return w.End + r.Grace
}

// passed reports whether a window is closed for a record, or altogether.
func (r *run) passed(w Window, e Event) bool {
	return r.deadline(w) <= max(r.watermarks[e.Partition], r.reached[e.Partition])
}

// fixed puts a record into the windows that hold its time.
func (r *run) fixed(e Event) {
	took := false
	for start := e.Time - r.Size; start <= e.Time; start++ {
		holds := start+r.Size > e.Time
		if starts := (start-r.Offset)%r.Advance == 0; !starts || !holds {
			continue
		}
		w := Window{r.group(e), e.Key, start, start + r.Size, []int{e.ID}}
		if r.passed(w, e) {
			r.Missed++
			continue
		}
		took = true
		i := slices.IndexFunc(r.Open, func(o Window) bool {
			return o.Partition == w.Partition && o.Key == w.Key && o.Start == w.Start
		})
		if i < 0 {
			r.Open = append(r.Open, w)
		} else {
			r.Open[i].IDs = append(r.Open[i].IDs, e.ID)
		}
	}
	if !took {
		r.Late = append(r.Late, e.ID)
	}
}

// session makes one session of a record and those that it touches. A record is
// late if one of those is closed for it, and if it touches none, when a session of
// its own would be.
func (r *run) session(e Event) {
	w := Window{r.group(e), e.Key, e.Time, e.Time + 1, nil}
	touches := func(o Window) bool {
		return o.Partition == w.Partition && o.Key == w.Key && e.Time >= o.Start-r.Gap && e.Time <= o.End-1+r.Gap
	}
	late := slices.ContainsFunc(r.Finals, touches)
	var others []Window
	slices.SortFunc(r.Open, func(a, b Window) int { return cmp.Compare(a.Start, b.Start) })
	for _, o := range r.Open {
		if !touches(o) {
			others = append(others, o)
			continue
		}
		late = late || r.passed(o, e)
		w.Start, w.End, w.IDs = min(w.Start, o.Start), max(w.End, o.End), append(w.IDs, o.IDs...)
	}
	if late || w.IDs == nil && r.passed(w, e) {
		r.Missed++
		r.Late = append(r.Late, e.ID)
		return
	}
	w.IDs = append(w.IDs, e.ID)
	r.Open = append(others, w)
}

// close closes what is due.
func (r *run) close() {
	var open []Window
	for _, w := range r.Open {
		if r.deadline(w) <= r.reached[max(w.Partition, 0)] {
			r.Finals = append(r.Finals, w)
		} else {
			open = append(open, w)
		}
	}
	r.Open = open
}
