package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// A ledger keeps who ran which task when, to check that no task ran in two places at a time. Children's logs are read one
// beside the other: only their times say what came first.
type ledger struct {
	mu     sync.Mutex
	events []event
}

type event struct {
	at      time.Time
	what    happening
	process string
	task    string
}

type happening int

const (
	runs       happening = iota // a process begins to run a task
	stops                       // it gives it up
	gone                        // the process is dead, with all its tasks
	doubtful                    // the group may have thrown the process out: it cannot commit, whatever it believes
	troubled                    // the broker may throw members out that do nothing wrong
	untroubled                  // it does not any more
)

// note takes down what happened.
func (l *ledger) note(at time.Time, what happening, process, task string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, event{at, what, process, task})
}

// A verdict is what the ledger says in the end.
type verdict struct {
	begun    int // how often a task began to run
	excused  int // overlaps with a process that may have been thrown out and not know it
	overlaps []string
}

const clockFormat = "15:04:05.000"

// judge goes through all that happened in its order.
func (l *ledger) judge() verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortStableFunc(l.events, func(a, b event) int { return a.at.Compare(b.at) })
	var v verdict
	running := map[string][]tenure{} // by task
	trouble := false
	for _, e := range l.events {
		switch e.what {
		case runs:
			v.begun++
			for _, t := range running[e.task] {
				if t.doubtful || trouble {
					v.excused++
					continue
				}
				v.overlaps = append(v.overlaps, fmt.Sprintf("task %s: %s began to run it at %s while %s did, since %s",
					e.task, e.process, e.at.Format(clockFormat), t.process, t.from.Format(clockFormat)))
			}
			running[e.task] = append(running[e.task], tenure{process: e.process, from: e.at})
		case stops:
			running[e.task] = without(running[e.task], e.process)
		case gone:
			for task, ts := range running {
				running[task] = without(ts, e.process)
			}
		case doubtful:
			for _, ts := range running {
				for i := range ts {
					ts[i].doubtful = ts[i].doubtful || ts[i].process == e.process
				}
			}
		case troubled, untroubled:
			trouble = e.what == troubled
		}
	}
	return v
}

// A tenure is the time for which one process runs one task.
type tenure struct {
	process  string
	from     time.Time
	doubtful bool
}

func without(ts []tenure, process string) []tenure {
	return slices.DeleteFunc(ts, func(t tenure) bool { return t.process == process })
}
