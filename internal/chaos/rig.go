package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/internal/kafkatest"
)

// A rig is what the faults act on: the broker, and the instances. The script's goroutine alone uses it.
type rig struct {
	options
	broker *kafkatest.Broker
	view   *view
	ledger *ledger
	report *reporter
	rng    *rand.Rand
	dir    string
	slots  []*instance
	audits []clone // copies of state that kills left behind, to be audited in the end
}

// An instance is an identity: an id and a state directory, and at most one process.
type instance struct {
	name  string
	dir   string
	lives int
	*process
}

func (i *instance) live() bool { return i.process != nil && i.alive() }

// How long things may take. The timeouts of the children are short, so that much happens in a run.
const (
	sessionTimeout = 6 * time.Second // the least that brokers allow
	stopLimit      = 60 * time.Second
	steadyLimit    = 90 * time.Second
)

const maxInstances = 3

func newRig(o options, broker *kafkatest.Broker, v *view, r *reporter, dir string) *rig {
	g := &rig{options: o, broker: broker, view: v, ledger: &ledger{}, report: r, rng: rand.New(rand.NewPCG(o.seed, 2)), dir: dir}
	for i := range maxInstances {
		name := string(rune('a' + i))
		g.slots = append(g.slots, &instance{name: name, dir: filepath.Join(dir, "state-"+name)})
	}
	return g
}

// living and idle return the instances with and without a process.
func (g *rig) living() []*instance { return g.filter(true) }
func (g *rig) idle() []*instance   { return g.filter(false) }

func (g *rig) filter(live bool) (list []*instance) {
	for _, s := range g.slots {
		if s.live() == live {
			list = append(list, s)
		}
	}
	return list
}

func (g *rig) pick(from []*instance) *instance { return from[g.rng.IntN(len(from))] }

// between returns a random time.
func (g *rig) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(g.rng.Int64N(int64(hi-lo)))
}

// start starts an instance's next process.
func (g *rig) start(s *instance) error {
	s.lives++
	commits := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}
	var err error
	s.process, err = launch(fmt.Sprintf("%s%d", s.name, s.lives), g.dir, childConfig{
		Brokers: g.broker.Addr(), Instance: s.name, Dir: s.dir, Commit: commits[g.rng.IntN(len(commits))], Age: g.age,
		Session: sessionTimeout, Transaction: g.transaction,
	}, g.ledger)
	return err
}

// revive starts again what ended by itself, which must not happen.
func (g *rig) revive() error {
	for _, s := range g.slots {
		if s.process == nil || s.alive() {
			continue
		}
		if why := s.unexpected(); why != "" {
			g.report.violation("%s", why)
			s.expect()
			if err := g.start(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// tasks is how many tasks the app has: of each of its two sub-topologies one for each partition.
const tasks = 2 * partitions

// steady waits until all tasks run in the living instances, and returns how long that took.
func (g *rig) steady(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	ok := await(ctx, steadyLimit, g.settled)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if !ok {
		if err := g.stuck(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), g.revive()
}

// stuck reports that tasks do not come to run. The stacks of those who wait are evidence; they start again.
func (g *rig) stuck() error {
	state := ""
	for _, s := range g.living() {
		state += fmt.Sprintf(" %s: ready %v, tasks %v;", s.process.name, s.now().Ready, slices.Sorted(maps.Keys(s.running())))
	}
	g.report.violation("not all tasks ran %v after a fault:%s (logs and stacks in %s)", steadyLimit, state, g.dir)
	for _, s := range g.living() {
		if s.now().Ready {
			continue
		}
		s.dump()
		if err := g.start(s); err != nil {
			return err
		}
	}
	return nil
}

// settled reports whether all tasks run.
func (g *rig) settled() bool {
	n := 0
	for _, s := range g.living() {
		if !s.now().Ready {
			return false
		}
		n += len(s.running())
	}
	return n == tasks
}

// close ends all instances.
func (g *rig) close() {
	for _, s := range g.living() {
		s.kill()
	}
}

// wipe deletes an instance's state directory.
func (s *instance) wipe() error { return os.RemoveAll(s.dir) }

// killed describes an instance at the moment when it was killed.
type killed struct {
	at    time.Time
	tasks map[string]bool
	wiped bool
	ends  kadm.ListedOffsets // of committed records in the changelogs; nil if they are not known
	tail  *tail              // nil if it is not known
}

// kill kills an instance, and notes in the line of the fault what that hit.
func (g *rig) kill(ctx context.Context, s *instance, l *faultLine) killed {
	k := killed{at: time.Now(), tasks: s.running()}
	restoring := s.now().Remaining > 0
	s.kill()
	l.Kills++
	if restoring {
		l.InRestore++
	}
	open, ends := g.view.aftermath(ctx, s.name)
	l.Open += min(open, 1)
	k.ends = ends
	return k
}

// look finds out what state a kill left behind, before a restart changes it. Where that cannot be known, as while the
// broker is down, nothing is noted.
func (g *rig) look(s *instance, k *killed) {
	t, c, err := g.inspect(s, *k)
	if err != nil {
		if !errors.Is(err, errNoState) {
			g.report.violation("the state that the kill of %s left behind cannot be read: %v", s.process.name, err)
		}
		return
	}
	k.tail = t
	if c.ends != nil && len(g.audits) < maxAudits && g.rng.IntN(3) == 0 {
		g.audits = append(g.audits, c)
		return
	}
	_ = os.RemoveAll(c.dir)
}

// comeBack waits until the restarted instance runs as many tasks as before, and notes how that went. A rebalance that was
// under way, or came meanwhile, may have left it with fewer: then all tasks of the app run, and there is nothing to note.
func (g *rig) comeBack(ctx context.Context, s *instance, k killed, l *faultLine) error {
	p := s.process
	isBack := func() bool {
		n, _ := p.tasks()
		return n >= len(k.tasks) && p.now().Ready
	}
	await(ctx, steadyLimit, func() bool { return isBack() || !p.alive() || g.settled() })
	if !isBack() || !p.alive() || len(k.tasks) == 0 {
		return errors.Join(ctx.Err(), g.revive())
	}
	_, last := p.tasks()
	b := &back{TasksMs: max(last.Sub(p.began).Milliseconds(), 0), Replayed: int64(p.now().Replayed)}
	if t := k.tail; t != nil && !k.wiped {
		b.Recent, b.oldRows, b.oldMissed = t.recent, t.old, t.missed
		if t.old > 0 {
			share := round(1 - float64(t.missed)/float64(t.old))
			b.OldShare = &share
		}
	}
	l.Back = b
	return nil
}
