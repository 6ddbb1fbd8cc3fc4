package main

import (
	"context"
	"errors"
	"os"
	"time"
)

// A fault is one kind of thing that goes wrong.
type fault struct {
	name   string
	weight int // how often it comes, beside the others
	// can says whether it can be done now; do does it, restores what is needed to go on, and fills in the line. Faults
	// that leave the group unsettled may be followed by the next at once.
	can func(g *rig) bool
	do  func(g *rig, ctx context.Context, l *faultLine) error
}

func always(*rig) bool { return true }

// faults are all kinds.
var faults = []fault{
	{"kill", 11, always, (*rig).killAndRestart},
	{"kill, state deleted", 2, always, (*rig).killAndWipe},
	{"kill in restore", 3, always, (*rig).killInRestore},
	{"kill in rebalance", 4, always, (*rig).killInRebalance},
	{"start", 5, func(g *rig) bool { return len(g.idle()) > 0 }, (*rig).grow},
	{"stop", 4, func(g *rig) bool { return len(g.living()) > 1 }, (*rig).shrink},
	{"pause", 3, always, (*rig).pauseInstance},
	{"broker kill", 2, always, (*rig).killBroker},
	{"broker pause", 2, always, (*rig).pauseBroker},
}

// killAndRestart kills an instance at a random moment and starts it again: at once, or so late that others have its tasks.
func (g *rig) killAndRestart(ctx context.Context, l *faultLine) error {
	s := g.pick(g.living())
	l.Instance = s.process.name
	if err := pause(ctx, g.between(200*time.Millisecond, 2*time.Second)); err != nil {
		return err
	}
	k := g.kill(ctx, s, l)
	g.look(s, &k)
	down := g.between(0, 500*time.Millisecond)
	if g.rng.IntN(8) == 0 {
		down = sessionTimeout + g.between(0, 3*time.Second)
	}
	if err := pause(ctx, down); err != nil {
		return err
	}
	l.DownMs = time.Since(k.at).Milliseconds()
	if err := g.start(s); err != nil || down > sessionTimeout {
		return err
	}
	return g.comeBack(ctx, s, k, l)
}

// killAndWipe does so with the state directory deleted.
func (g *rig) killAndWipe(ctx context.Context, l *faultLine) error {
	s := g.pick(g.living())
	l.Instance, l.Wiped = s.process.name, true
	if err := pause(ctx, g.between(200*time.Millisecond, time.Second)); err != nil {
		return err
	}
	k := g.kill(ctx, s, l)
	k.wiped = true
	l.DownMs = time.Since(k.at).Milliseconds()
	if err := errors.Join(s.wipe(), g.start(s)); err != nil {
		return err
	}
	return g.comeBack(ctx, s, k, l)
}

// killInRestore takes an instance's state away and kills it again while it restores.
func (g *rig) killInRestore(ctx context.Context, l *faultLine) error {
	s := g.pick(g.living())
	l.Instance, l.Wiped = s.process.name, true
	k := g.kill(ctx, s, l)
	k.wiped = true
	if err := errors.Join(s.wipe(), g.start(s)); err != nil {
		return err
	}
	await(ctx, 20*time.Second, func() bool { return s.now().Remaining > 0 || s.now().Ready && len(s.running()) > 0 })
	if err := pause(ctx, g.between(0, 300*time.Millisecond)); err != nil {
		return err
	}
	again := g.kill(ctx, s, l)
	l.DownMs = time.Since(again.at).Milliseconds()
	if err := g.start(s); err != nil {
		return err
	}
	return g.comeBack(ctx, s, k, l)
}

// killInRebalance makes the group rebalance and kills one of its members meanwhile.
func (g *rig) killInRebalance(ctx context.Context, l *faultLine) error {
	var leaving *instance
	if idle := g.idle(); len(idle) > 0 && (len(g.living()) == 1 || g.rng.IntN(2) == 0) {
		if err := g.start(g.pick(idle)); err != nil {
			return err
		}
	} else if len(g.living()) > 1 {
		leaving = g.pick(g.living())
		leaving.expect()
		if err := leaving.cmd.Process.Signal(os.Interrupt); err != nil {
			return err
		}
	}
	hit := await(ctx, 15*time.Second, func() bool { return g.view.rebalancing(ctx) })
	living := g.living()
	if len(living) == 0 {
		return g.start(g.slots[0])
	}
	s := g.pick(living)
	l.Instance = s.process.name
	k := g.kill(ctx, s, l)
	if hit {
		l.InRebalance++
	}
	if leaving != nil && leaving != s {
		if _, err := leaving.process.stop(ctx, stopLimit); err != nil {
			g.report.violation("%v", err)
		}
	}
	if err := pause(ctx, g.between(0, time.Second)); err != nil {
		return err
	}
	l.DownMs = time.Since(k.at).Milliseconds()
	return g.start(s)
}

// grow starts another instance.
func (g *rig) grow(_ context.Context, l *faultLine) error {
	s := g.pick(g.idle())
	if err := g.start(s); err != nil {
		return err
	}
	l.Instance = s.process.name
	return nil
}

// shrink stops an instance gracefully, while data flows.
func (g *rig) shrink(ctx context.Context, l *faultLine) error {
	s := g.pick(g.living())
	l.Instance = s.process.name
	took, err := s.process.stop(ctx, stopLimit)
	if l.TookMs = took.Milliseconds(); err != nil {
		g.report.violation("%v", err)
	}
	return ctx.Err()
}

// pauseInstance stops an instance's process for longer than its session lives.
func (g *rig) pauseInstance(ctx context.Context, l *faultLine) error {
	s := g.pick(g.living())
	l.Instance = s.process.name
	if err := s.freeze(); err != nil {
		return err
	}
	frozen := time.Now()
	err := pause(ctx, sessionTimeout+g.between(time.Second, 5*time.Second))
	l.DownMs = time.Since(frozen).Milliseconds()
	return errors.Join(err, s.thaw())
}

// killBroker kills the broker and starts it again.
func (g *rig) killBroker(ctx context.Context, l *faultLine) error {
	g.ledger.note(time.Now(), troubled, "", "")
	down := time.Now()
	if err := g.broker.Kill9(); err != nil {
		return err
	}
	if err := pause(ctx, g.between(0, 4*time.Second)); err != nil {
		return err
	}
	err := g.broker.Restart()
	l.DownMs = time.Since(down).Milliseconds()
	return err
}

// pauseBroker lets the broker hang: sometimes for longer than sessions and transactions live.
func (g *rig) pauseBroker(ctx context.Context, l *faultLine) error {
	g.ledger.note(time.Now(), troubled, "", "")
	down := time.Now()
	if err := g.broker.Pause(); err != nil {
		return err
	}
	err := pause(ctx, g.between(time.Second, g.transaction))
	l.DownMs = time.Since(down).Milliseconds()
	return errors.Join(err, g.broker.Resume())
}
