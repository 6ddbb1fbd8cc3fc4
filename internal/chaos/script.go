package main

import (
	"context"
	"time"
)

// A quota is how often a fault must have hit, in a run of 300 s; shorter runs need less, but never nothing.
type quota struct {
	name  string
	full  int
	fault string // what helps
}

// quotas are in the order of reporter.counts.
var quotas = [4]quota{
	{"kills", 30, "kill"},
	{"aborts", 20, "kill"},
	{"restores", 5, "kill in restore"},
	{"rebalances", 3, "kill in rebalance"},
}

const fullSeconds = 300

func (q quota) needed(seconds float64) int {
	return max(1, int(float64(q.full)*min(1, seconds/fullSeconds)))
}

// overtime is how much longer a run may take whose faults have not hit often enough.
func overtime(seconds float64) float64 { return max(seconds/2, 60) }

// script injects faults until the time is over and every quota is met, or overtime is over.
func (g *rig) script(ctx context.Context) error {
	began := time.Now()
	for n := 1; ; n++ {
		if len(g.living()) == 0 {
			if err := g.start(g.slots[0]); err != nil {
				return err
			}
		}
		elapsed := time.Since(began).Seconds()
		behind := g.behind(elapsed)
		if elapsed >= g.seconds && behind == "" || elapsed >= g.seconds+overtime(g.seconds) {
			return nil
		}
		f := g.next(behind, elapsed)
		l := faultLine{N: n, At: round(elapsed), Fault: f.name, Live: len(g.living())}
		if err := f.do(g, ctx, &l); err != nil {
			return err
		}
		// Now and then the next fault does not wait for the last one's end.
		if g.rng.IntN(5) > 0 {
			took, err := g.steady(ctx)
			if err != nil {
				return err
			}
			l.Steady = round(took.Seconds())
			g.ledger.note(time.Now(), untroubled, "", "")
		} else if err := g.revive(); err != nil {
			return err
		}
		g.report.fault(l)
	}
}

// behind names a fault that has not hit as often as it should have by now, and is empty if there is none.
func (g *rig) behind(elapsed float64) string {
	counts := g.report.counts()
	worst, name := 1.0, ""
	for i := len(quotas) - 1; i >= 0; i-- {
		// A little more than needed, a little earlier: nothing is left for the end.
		due := 1.1 * float64(quotas[i].needed(g.seconds)) * min(1, elapsed/(0.9*g.seconds))
		if due > 0 && float64(counts[i])/due < worst {
			worst, name = float64(counts[i])/due, quotas[i].fault
		}
	}
	return name
}

// next draws the next fault, from those that the quotas lack as often as from all.
func (g *rig) next(behind string, elapsed float64) fault {
	late := elapsed >= g.seconds
	if behind != "" && (late || g.rng.IntN(2) == 0) {
		for _, f := range faults {
			if f.name == behind && f.can(g) {
				return f
			}
		}
	}
	total := 0
	for _, f := range faults {
		if f.can(g) {
			total += f.weight
		}
	}
	at := g.rng.IntN(total)
	for _, f := range faults {
		if !f.can(g) {
			continue
		}
		if at -= f.weight; at < 0 {
			return f
		}
	}
	return faults[0]
}
