package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
)

// A faultLine is what is written about one fault.
type faultLine struct {
	N        int     `json:"n"`
	At       float64 `json:"at_s"`
	Fault    string  `json:"fault"`
	Instance string  `json:"instance,omitempty"`
	Live     int     `json:"live"` // instances, before it

	Kills       int     `json:"kills,omitempty"`
	Open        int     `json:"open_transactions,omitempty"` // that a kill left behind, holding records
	InRestore   int     `json:"kills_in_restore,omitempty"`
	InRebalance int     `json:"kills_in_rebalance,omitempty"`
	Wiped       bool    `json:"state_deleted,omitempty"`
	DownMs      int64   `json:"down_ms,omitempty"` // how long the process or the broker was away
	TookMs      int64   `json:"took_ms,omitempty"` // a graceful stop
	Back        *back   `json:"back,omitempty"`
	Steady      float64 `json:"steady_s,omitempty"` // from the end of the fault until all tasks ran; 0 if that was not waited for
}

// back says how an instance came back after a kill.
type back struct {
	TasksMs   int64    `json:"tasks_ms"`           // from its start until it ran as many tasks as before
	Replayed  int64    `json:"rows_replayed"`      // of changelogs
	Recent    int64    `json:"rows_within_age"`    // committed within the checkpoint age before the kill
	OldShare  *float64 `json:"old_rows_in_pebble"` // of the rows committed before, how many Pebble held at the kill
	oldRows   int64    // committed before
	oldMissed int64    // of them, those that Pebble did not hold
}

// A summary is the last line.
type summary struct {
	Summary       bool              `json:"summary"`
	OK            bool              `json:"ok"`
	Seed          uint64            `json:"seed"`
	Seconds       float64           `json:"seconds"` // of faults
	Records       int64             `json:"records"`
	LiveRows      int64             `json:"live_rows"`
	Kills         int               `json:"kills"`
	Aborts        int               `json:"aborts"` // kills that left an open transaction behind, holding records
	Rebalances    int               `json:"rebalances"`
	Restores      int               `json:"restores"`
	Pauses        int               `json:"pauses"`
	Starts        int               `json:"starts"`
	Stops         int               `json:"stops"`
	Wipes         int               `json:"state_deletions"`
	BrokerKills   int               `json:"broker_kills"`
	BrokerPauses  int               `json:"broker_pauses"`
	Aborted       int               `json:"aborted_records"` // that the outputs hold in the end
	Replayed      int64             `json:"rows_replayed"`   // after all restarts, deleted state included
	Recent        int64             `json:"rows_within_age"`
	TailReplayed  int64             `json:"rows_replayed_with_state"` // after restarts that found their state
	OldShare      float64           `json:"old_rows_in_pebble"`
	BackMs        []int64           `json:"back_ms"` // quartiles of the time until a killed instance ran its tasks again
	TaskStarts    int               `json:"task_starts"`
	Excused       int               `json:"overlaps_fenced"`
	Heal          map[string]any    `json:"heal"`
	Checked       map[string]int64  `json:"checked"`
	Guards        map[string]string `json:"guards"`
	Void          []string          `json:"void,omitempty"`
	Violations    int               `json:"violations"`
	ViolationList []string          `json:"violation_list,omitempty"`
}

// A reporter writes the lines, and keeps what the summary needs. It is safe for concurrent use.
type reporter struct {
	mu       sync.Mutex
	out      *json.Encoder
	progress io.Writer
	began    time.Time
	sum      summary
	backs    []back
}

func newReporter(stdout, stderr io.Writer, seed uint64) *reporter {
	return &reporter{out: json.NewEncoder(stdout), progress: stderr, began: time.Now(), sum: summary{
		Summary: true, Seed: seed, Heal: map[string]any{}, Checked: map[string]int64{}, Guards: map[string]string{},
	}}
}

// say tells people how it goes.
func (r *reporter) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.progress, "%7.1fs  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// keptViolations are listed in the summary; the rest is counted.
const keptViolations = 20

// violation notes that something is wrong.
func (r *reporter) violation(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.sum.Violations++
	if len(r.sum.ViolationList) < keptViolations {
		r.sum.ViolationList = append(r.sum.ViolationList, text)
	}
	n := r.sum.Violations
	r.mu.Unlock()
	if n <= keptViolations {
		r.say("VIOLATION: %s", text)
	}
}

// fault writes the line of a fault, and counts it.
func (r *reporter) fault(l faultLine) {
	var b strings.Builder
	fmt.Fprintf(&b, "fault %d: %s %s", l.N, l.Fault, l.Instance)
	if l.Open > 0 {
		fmt.Fprintf(&b, ", open transactions %d", l.Open)
	}
	if l.Back != nil {
		fmt.Fprintf(&b, ", tasks back after %d ms, %d rows replayed (%d within the checkpoint age)", l.Back.TasksMs,
			l.Back.Replayed, l.Back.Recent)
	}
	r.say("%s", b.String())
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.out.Encode(l)
	s := &r.sum
	s.Kills += l.Kills
	s.Aborts += min(l.Open, l.Kills)
	s.Restores += l.InRestore
	s.Rebalances += l.InRebalance
	if l.Wiped {
		s.Wipes++
	}
	switch l.Fault {
	case "pause":
		s.Pauses++
	case "start":
		s.Starts++
	case "stop":
		s.Stops++
	case "broker kill":
		s.BrokerKills++
	case "broker pause":
		s.BrokerPauses++
	}
	if l.Back == nil {
		return
	}
	s.Replayed += l.Back.Replayed
	if l.Back.OldShare != nil {
		s.TailReplayed += l.Back.Replayed
		s.Recent += l.Back.Recent
		r.backs = append(r.backs, *l.Back)
	}
}

// healed notes how the application came to rest.
func (r *reporter) healed(how map[string]any) {
	r.mu.Lock()
	r.sum.Heal = how
	r.mu.Unlock()
	r.say("at rest: %v", how)
}

// checked notes how many of something were compared.
func (r *reporter) checked(what string, n int64) {
	r.mu.Lock()
	r.sum.Checked[what] += n
	r.mu.Unlock()
	r.say("checked %s: %d", what, n)
}

// aborted notes how many records of aborted transactions the outputs hold, live how many rows a store does.
func (r *reporter) aborted(n int) { r.set(func(s *summary) { s.Aborted = n }) }
func (r *reporter) live(n int64)  { r.set(func(s *summary) { s.LiveRows += n }) }

func (r *reporter) set(f func(*summary)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.sum)
}

// counts returns kills, and those that hit an open transaction, a restore, a rebalance.
func (r *reporter) counts() [4]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return [4]int{r.sum.Kills, r.sum.Aborts, r.sum.Restores, r.sum.Rebalances}
}

// round keeps two digits behind the point.
func round(f float64) float64 { return math.Round(f*100) / 100 }
