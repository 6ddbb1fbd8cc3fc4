package main

import (
	"fmt"
	"slices"
)

// minOldShare is how much of what is older than the checkpoint age Pebble must hold at a kill, over a whole run.
const minOldShare = 0.9

// minLive is how many rows a run with the full input must keep alive, and fullRecords what the full input is.
const (
	minLive     = 500_000
	fullRecords = 1_200_000
)

// finish judges the run, and writes the last line. It reports whether all was well.
func (r *reporter) finish(o options, v verdict) bool {
	for _, overlap := range v.overlaps {
		r.violation("%s", overlap)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.sum
	s.Seconds, s.TaskStarts, s.Excused = o.seconds, v.begun, v.excused
	var old, missed int64
	for _, b := range r.backs {
		old, missed = old+b.oldRows, missed+b.oldMissed
		s.BackMs = append(s.BackMs, b.TasksMs)
	}
	s.BackMs = quartiles(s.BackMs)
	if old > 0 {
		s.OldShare = round(1 - float64(missed)/float64(old))
	}
	guard := func(name string, got, needed int64) {
		s.Guards[name] = fmt.Sprintf("%d of %d", got, needed)
		if got < needed {
			s.Void = append(s.Void, fmt.Sprintf("%s: %d, needed are %d", name, got, needed))
		}
	}
	for i, got := range [4]int{s.Kills, s.Aborts, s.Restores, s.Rebalances} {
		guard(quotas[i].name, int64(got), int64(quotas[i].needed(o.seconds)))
	}
	guard("aborted_records", int64(s.Aborted), 1)
	guard("rows_replayed", s.Replayed, 1)
	guard("live_rows", s.LiveRows, int64(minLive*min(1, float64(o.records)/fullRecords)))
	if old > 0 && s.OldShare < minOldShare {
		s.Violations++
		s.ViolationList = append(s.ViolationList, fmt.Sprintf("Pebble held %.2f of the rows older than the checkpoint age when instances were "+
			"killed, want %.2f", s.OldShare, minOldShare))
	}
	s.OK = s.Violations == 0 && len(s.Void) == 0
	_ = r.out.Encode(s)
	return s.OK
}

// quartiles returns the least, the three quartiles and the greatest.
func quartiles(list []int64) []int64 {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	var q []int64
	for i := range 5 {
		q = append(q, list[i*(len(list)-1)/4])
	}
	return q
}
