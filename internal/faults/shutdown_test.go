package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/stream"
)

// A stop ends an app from every state it can be in, and soon. (C88)
func TestStopFromEveryState(t *testing.T) {
	t.Parallel()
	for name, reach := range map[string]func(t *testing.T, i *instance){
		"at once":               func(*testing.T, *instance) {},
		"waiting for brokers":   func(_ *testing.T, i *instance) { i.net.Break() },
		"restoring":             func(t *testing.T, i *instance) { kafkatest.Eventually(t, patience, i.assigned) },
		"running":               func(t *testing.T, i *instance) { kafkatest.Eventually(t, patience, i.ready) },
		"brokers gone":          func(t *testing.T, i *instance) { kafkatest.Eventually(t, patience, i.ready); i.net.Break() },
		"brokers do not answer": func(t *testing.T, i *instance) { kafkatest.Eventually(t, patience, i.ready); i.net.Hold() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 600)
			c := kafkatest.Fake(t)
			addrs := c.ListenAddrs()
			cluster(t, addrs, records[:300])
			first := start(t, &instance{cfg: configOf(addrs)}, (*stream.App).Run)
			settled(t, addrs)
			require.NoError(t, first.stop())
			fill(t, addrs, records[300:])
			release := func() {}
			if name == "restoring" {
				release = holdFetches(t, c, addrs, changelogs)
			}
			i := &instance{cfg: configOf(addrs), net: &network{}}
			start(t, i, (*stream.App).Run)
			reach(t, i)
			began := time.Now()
			require.NoError(t, i.stop())
			require.Less(t, time.Since(began), 25*time.Second)
			t.Logf("stopped in %v", time.Since(began))
			release()
			last := finish(t, configOf(addrs), i.fs)
			check(t, addrs, records, last.fs)
		})
	}
}

// holdFetches answers no fetch of some topics any more, until it is released.
func holdFetches(t *testing.T, c *kfake.Cluster, addrs, topics []string) (release func()) {
	t.Helper()
	r, ctx := reader(t, addrs)
	ids := map[[16]byte]bool{}
	details, err := r.Admin().ListTopics(ctx, topics...)
	require.NoError(t, err)
	for _, d := range details {
		ids[d.ID] = true
	}
	var released atomic.Bool
	c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		for _, rt := range req.(*kmsg.FetchRequest).Topics {
			if ids[rt.TopicID] && !released.Load() {
				return nil, errors.New("not now"), true
			}
		}
		return nil, nil, false
	})
	return func() { released.Store(true) }
}

// assigned returns nil once the group has given the instance tasks that it is
// restoring.
func (i *instance) assigned() error {
	err := i.ready()
	if err != nil && strings.Contains(err.Error(), "to be restored") {
		return nil
	}
	return fmt.Errorf("not restoring: %w", err)
}

// A stop while a commit is in doubt does not commit the interval again, whatever
// has become of it.
func TestStopInDoubt(t *testing.T) {
	t.Parallel()
	for _, e := range endings {
		if e.lasting == 0 {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 600)
			c := kafkatest.Fake(t)
			cluster(t, c.ListenAddrs(), records)
			cfg := configOf(c.ListenAddrs())
			cfg.TransactionTimeout = 2 * time.Second
			hit := e.inject(t, c, 3)
			i := start(t, &instance{cfg: cfg}, (*stream.App).Run)
			kafkatest.Eventually(t, patience, func() error {
				if hit.Load() == 0 {
					return errors.New("it did not happen yet")
				}
				return nil
			})
			require.NoError(t, i.stop())
			last := finish(t, cfg, i.fs)
			check(t, c.ListenAddrs(), records, last.fs)
		})
	}
}

// A user's function can stop its own app, and stopping twice is stopping once.
func TestStopFromWithin(t *testing.T) {
	t.Parallel()
	records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 600)
	addrs := kafkatest.Fake(t).ListenAddrs()
	cluster(t, addrs, records)
	var hits atomic.Int64
	i := &instance{cfg: configOf(addrs)}
	i.hook = func(p checkpoint.Point) error {
		if p == checkpoint.AfterProcess && hits.Add(1) == 3 {
			i.cancel()
			i.cancel()
		}
		return nil
	}
	require.NoError(t, start(t, i, (*stream.App).Run).wait())
	require.ErrorContains(t, i.app.Run(context.Background()), "has run before")
	last := finish(t, configOf(addrs), i.fs)
	check(t, addrs, records, last.fs)
}

// An app that has ended leaves no goroutine. The test has a process to itself,
// or it could not tell whose it sees.
func TestNothingIsLeft(t *testing.T) {
	if os.Getenv("FAULTS_ALONE") == "" {
		t.Parallel()
		alone := exec.Command(os.Args[0], "-test.run=^TestNothingIsLeft$", "-test.timeout=1m")
		alone.Env = append(os.Environ(), "FAULTS_ALONE=1")
		out, err := alone.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	for _, crash := range []bool{false, true} {
		records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 300)
		addrs := kafkatest.Fake(t).ListenAddrs()
		cluster(t, addrs, records)
		cfg := configOf(addrs)
		cfg.Workers = 3
		i := &instance{cfg: cfg}
		if crash {
			i.hook = func(p checkpoint.Point) error {
				if p == checkpoint.AfterEnd {
					return errors.New("asked for")
				}
				return nil
			}
		}
		start(t, i, (*stream.App).RunUntilEnd)
		if err := i.wait(); !crash {
			require.NoError(t, err)
		}
		kafkatest.Eventually(t, 10*time.Second, func() error { return strays(crash) })
	}
}

// strays finds goroutines of apps. After a crash its database is left as it is.
func strays(crash bool) error {
	var stacks strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
		return err
	}
	var errs []error
	for _, s := range strings.Split(stacks.String(), "\n\n") {
		ours := strings.Contains(s, "weirstream/weir/internal/worker") || strings.Contains(s, "weirstream/weir/internal/engine") ||
			strings.Contains(s, "weirstream/weir/internal/restore") || strings.Contains(s, "weirstream/weir/state") ||
			!crash && strings.Contains(s, "cockroachdb/pebble/v2.")
		if ours {
			errs = append(errs, errors.New(s))
		}
	}
	return errors.Join(errs...)
}

// Two processes cannot have one state directory: the second is told so at once.
// (C77)
func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	addrs := kafkatest.Fake(t).ListenAddrs()
	cluster(t, addrs, nil)
	fs := vfs.NewCrashableMem()
	first := start(t, &instance{cfg: configOf(addrs), fs: fs}, (*stream.App).Run)
	kafkatest.Eventually(t, patience, first.ready)
	began := time.Now()
	second := start(t, &instance{cfg: configOf(addrs), fs: fs}, (*stream.App).Run)
	require.ErrorContains(t, second.wait(), "state directory state is in use by another process; each instance needs its own")
	require.Less(t, time.Since(began), 2*time.Second)
	require.NoError(t, first.stop())
}

// State that is deleted as soon as its task is elsewhere is never that of a task
// that is being opened or runs, though tasks come and go all the time. (C77)
func TestStateRetentionRacesRebalances(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	records := input(rand.New(rand.NewPCG(uint64(seed), 0)), 1200)
	addrs := shortSessions(t).ListenAddrs()
	cluster(t, addrs, records[:100])
	cfg := func(name string) stream.Config {
		c := configFor(addrs, name)
		c.StateRetention, c.Workers = time.Millisecond, 2
		return c
	}
	stays := start(t, &instance{cfg: cfg("stays")}, (*stream.App).Run)
	fs := vfs.NewCrashableMem()
	for n := 100; n < 1100; n += 200 {
		fill(t, addrs, records[n:n+100])
		guest := start(t, &instance{cfg: cfg("guest"), fs: fs}, (*stream.App).Run)
		kafkatest.Eventually(t, patience, func() error { return errors.Join(stays.ready(), guest.ready()) })
		fill(t, addrs, records[n+100:n+200])
		require.NoError(t, guest.stop())
	}
	fill(t, addrs, records[1100:])
	settled(t, addrs)
	require.NoError(t, stays.stop())
	last := finish(t, cfg("stays"), stays.fs)
	v := check(t, addrs, records, last.fs)
	auditLeft(t, v.audit, fs)
}
