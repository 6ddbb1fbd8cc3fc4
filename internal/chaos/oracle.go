package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// An oracle computes from the input, record by record, what must come out. It shares no code with the engine.
type oracle struct {
	totals  [][]Total       // by user: the states, in order
	views   map[pane]int64  // counts
	late    map[int64]int   // by Seq: how often, since the loader may write twice when the broker is killed
	visits  map[int][]int64 // by user: event times of what goes into sessions
	highest map[int32]int64 // event time, by partition
	records int64
}

// A pane is one window of one user.
type pane struct {
	user  int
	start int64
}

func newOracle() *oracle {
	return &oracle{
		views: map[pane]int64{}, late: map[int64]int{}, visits: map[int][]int64{}, highest: map[int32]int64{},
	}
}

// The topology's times in ms, said anew.
const (
	boundMs  = int64(5_000)
	windowMs = int64(10_000)
	graceMs  = int64(3_000)
	gapMs    = int64(1_000)
)

// add takes the next record of the input.
func (o *oracle) add(r *kgo.Record) error {
	e, err := input.Value.Decode(r.Value)
	if err != nil {
		return fmt.Errorf("partition %d, offset %d: %w", r.Partition, r.Offset, err)
	}
	user, err := userNumber(e.User)
	if err != nil {
		return err
	}
	for user >= len(o.totals) {
		o.totals = append(o.totals, nil)
	}
	states := o.totals[user]
	var last Total
	if len(states) > 0 {
		last = states[len(states)-1]
	}
	o.totals[user] = append(states, last.add(e))
	ms := r.Timestamp.UnixMilli()
	start := ms - ms%windowMs
	if carried := o.watermark(r.Partition); start+windowMs+graceMs <= carried {
		o.late[e.Seq]++
	} else {
		o.views[pane{user, start}]++
	}
	if !e.Straggler {
		o.visits[user] = append(o.visits[user], ms)
	}
	if high, ok := o.highest[r.Partition]; !ok || ms > high {
		o.highest[r.Partition] = ms
	}
	o.records++
	return nil
}

// watermark is that of a source partition.
func (o *oracle) watermark(partition int32) int64 {
	if high, ok := o.highest[partition]; ok {
		return high - boundMs
	}
	return math.MinInt64
}

// final is the watermark behind everything.
func (o *oracle) final() int64 {
	w := int64(math.MaxInt64)
	for p := range int32(partitions) {
		w = min(w, o.watermark(p))
	}
	return w
}

func (o *oracle) closed(v pane) bool { return v.start+windowMs+graceMs <= o.final() }

// A visit is a session.
type visit struct {
	user        int
	first, last int64
}

// sessions returns all sessions with their counts, closed and open ones.
func (o *oracle) sessions() (closed, open map[visit]int64) {
	closed, open = map[visit]int64{}, map[visit]int64{}
	final := o.final()
	for user, times := range o.visits {
		sorted := slices.Clone(times)
		slices.SortFunc(sorted, cmp.Compare[int64])
		for len(sorted) > 0 {
			n := 1
			for n < len(sorted) && sorted[n]-sorted[n-1] <= gapMs {
				n++
			}
			v := visit{user, sorted[0], sorted[n-1]}
			if v.last+gapMs < final {
				closed[v] = int64(n)
			} else {
				open[v] = int64(n)
			}
			sorted = sorted[n:]
		}
	}
	return closed, open
}
