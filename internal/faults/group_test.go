package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/verify/oracle"
	"github.com/weirstream/weir/stream"
)

// shortSessions is an embedded broker that lets sessions be short.
func shortSessions(t *testing.T) *kfake.Cluster {
	return kafkatest.Fake(t, kfake.GroupMinSessionTimeout(500*time.Millisecond))
}

func configFor(addrs []string, name string) stream.Config {
	cfg := configOf(addrs)
	cfg.Instance, cfg.SessionTimeout, cfg.TransactionTimeout = name, 2*time.Second, 2*time.Second
	return cfg
}

// finish runs job to the end of its input, as another instance on that disk.
func finish(t *testing.T, cfg stream.Config, fs *vfs.MemFS) *instance {
	t.Helper()
	i := start(t, &instance{cfg: cfg, fs: fs}, (*stream.App).RunUntilEnd)
	require.NoError(t, i.wait())
	return i
}

// An instance is paused at a point of a commit, for longer than its session and
// its transaction last. Another takes over and processes what there is. When the
// first comes back, its commit is fenced, what it did is rolled back, and it
// takes part again without a restart. (C59)
func TestZombie(t *testing.T) {
	t.Parallel()
	for _, at := range []checkpoint.Point{
		checkpoint.AfterProcess, checkpoint.AfterFlush, checkpoint.AfterOffsets, checkpoint.BeforeEnd,
		checkpoint.AfterEnd, checkpoint.BeforeWrite,
	} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 600)
			addrs := shortSessions(t).ListenAddrs()
			cluster(t, addrs, records[:300])
			zombie := &instance{cfg: configFor(addrs, "zombie"), net: &network{}}
			pausedAt, goOn := make(chan struct{}), make(chan struct{})
			var hits atomic.Int64
			var release func()
			zombie.hook = func(p checkpoint.Point) error {
				if p == at && hits.Add(1) == 3 {
					release = zombie.net.Hold()
					close(pausedAt)
					<-goOn
				}
				return nil
			}
			start(t, zombie, (*stream.App).Run)
			select {
			case <-pausedAt:
			case <-time.After(patience):
				t.Fatal("the point was not reached")
			}
			heir := start(t, &instance{cfg: configFor(addrs, "heir")}, (*stream.App).Run)
			settled(t, addrs) // without the zombie
			release()
			close(goOn)
			fill(t, addrs, records[300:])
			settled(t, addrs)
			kafkatest.Eventually(t, patience, func() error { return errors.Join(zombie.ready(), heir.ready()) })
			require.NoError(t, heir.stop())
			require.NoError(t, zombie.stop())
			last := finish(t, configFor(addrs, "zombie"), zombie.fs)
			v := check(t, addrs, records, last.fs)
			if open[at] {
				require.Positive(t, v.aborted, "the zombie was not fenced")
			}
			auditLeft(t, v.audit, heir.fs)
		})
	}
}

// A group grows and shrinks while input flows: cleanly, by crashes, with fetches
// that are slow to be answered, and with commits that are refused meanwhile. No
// record is skipped or processed twice, and state follows. (C53, C64, C83, C90)
func TestRescale(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*testing.T, *kfake.Cluster, *rand.Rand){
		"undisturbed":  func(*testing.T, *kfake.Cluster, *rand.Rand) {},
		"slow fetches": slowFetches,
		"aborts":       abortSome,
	} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/crash=%v", name, crash), func(t *testing.T) {
				t.Parallel()
				seed := seedOf(t)
				rng := rand.New(rand.NewPCG(uint64(seed), 0))
				records := input(rng, 1200)
				c := shortSessions(t)
				cluster(t, c.ListenAddrs(), records[:100])
				disturb(t, c, rng)
				rescale(t, c, records, crash)
			})
		}
	}
}

func rescale(t *testing.T, c *kfake.Cluster, records []oracle.Record[event], crash bool) {
	addrs := c.ListenAddrs()
	disks := map[string]*vfs.MemFS{}
	life := func(name string) *instance {
		i := start(t, &instance{cfg: configFor(addrs, name), fs: disks[name]}, (*stream.App).Run)
		disks[name] = i.fs
		return i
	}
	end := func(name string, i *instance) {
		if crash {
			disks[name] = i.kill(50, int64(len(name)))
			return
		}
		require.NoError(t, i.stop())
	}
	next := 100
	more := func() {
		fill(t, addrs, records[next:next+100])
		next += 100
	}
	running := func(list ...*instance) {
		kafkatest.Eventually(t, patience, func() (err error) {
			for _, i := range list {
				err = errors.Join(err, i.ready())
			}
			return err
		})
	}
	a := life("a")
	more()
	b := life("b")
	more()
	d := life("c")
	more()
	running(a, b, d)
	more()
	end("b", b)
	more()
	running(a, d)
	more()
	b = life("b")
	more()
	end("a", a)
	more()
	running(b, d)
	end("c", d)
	more()
	running(b)
	fill(t, addrs, records[next:])
	settled(t, addrs)
	require.NoError(t, b.stop())
	last := finish(t, configFor(addrs, "b"), b.fs)
	v := check(t, addrs, records, last.fs)
	for _, fs := range disks {
		auditLeft(t, v.audit, fs)
	}
}

// slowFetches delays the answers to some fetches.
func slowFetches(_ *testing.T, c *kfake.Cluster, rng *rand.Rand) {
	slow := rand.New(rand.NewPCG(rng.Uint64(), 0))
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if slow.IntN(8) == 0 {
			wait := time.Duration(slow.IntN(300)) * time.Millisecond
			c.SleepControl(func() { <-time.After(wait) })
		}
		return nil, nil, false
	})
}

// abortSome lets some commits fail, before or at the end of the transaction.
func abortSome(_ *testing.T, c *kfake.Cluster, rng *rand.Rand) {
	chance := rand.New(rand.NewPCG(rng.Uint64(), 0))
	c.ControlKey(int16(kmsg.EndTxn), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if req := r.(*kmsg.EndTxnRequest); !req.Commit || chance.IntN(10) > 0 {
			return nil, nil, false
		}
		resp := r.ResponseKind().(*kmsg.EndTxnResponse)
		resp.ErrorCode = kerr.UnknownServerError.Code
		return resp, nil, true
	})
	c.ControlKey(int16(kmsg.TxnOffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if chance.IntN(10) > 0 {
			return nil, nil, false
		}
		return refuse(r, kerr.CoordinatorLoadInProgress.Code), nil, true
	})
}

// While a task restores for longer than a transaction may last, the others go
// on and commit. (C60, and C83: what arrives meanwhile is not lost)
func TestSlowRestore(t *testing.T) {
	t.Parallel()
	records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 900)
	c := shortSessions(t)
	addrs := c.ListenAddrs()
	cluster(t, addrs, records[:300])
	first := start(t, &instance{cfg: configFor(addrs, "one")}, (*stream.App).Run)
	settled(t, addrs)
	require.NoError(t, first.stop())
	r, ctx := reader(t, addrs)
	var held atomic.Bool
	held.Store(true)
	topic, err := r.Admin().ListTopics(ctx, "job-chains-changelog")
	require.NoError(t, err)
	c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		for _, rt := range req.(*kmsg.FetchRequest).Topics {
			if rt.TopicID == [16]byte(topic["job-chains-changelog"].ID) && held.Load() {
				return nil, errors.New("not now"), true
			}
		}
		return nil, nil, false
	})
	next := start(t, &instance{cfg: configFor(addrs, "one")}, (*stream.App).Run) // on an empty disk
	began := time.Now()
	for n := 300; n < 900; n += 100 { // the tasks that have no state go on
		fill(t, addrs, records[n:n+100])
		kafkatest.Eventually(t, patience, func() error { return lagOf(ctx, r) })
		<-time.After(500 * time.Millisecond)
	}
	require.Greater(t, time.Since(began), 2*time.Second, "longer than a transaction lasts")
	require.Error(t, next.ready(), "the tasks with state are still waiting")
	held.Store(false)
	settled(t, addrs)
	require.NoError(t, next.stop())
	last := finish(t, configFor(addrs, "one"), next.fs)
	check(t, addrs, records, last.fs)
}

// Of two processes with one instance id, one goes on, and the other stops and
// says why.
func TestSameInstanceTwice(t *testing.T) {
	t.Parallel()
	records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 600)
	addrs := shortSessions(t).ListenAddrs()
	cluster(t, addrs, records[:300])
	stays := start(t, &instance{cfg: configFor(addrs, "one")}, (*stream.App).Run)
	kafkatest.Eventually(t, patience, stays.ready)
	stops := start(t, &instance{cfg: configFor(addrs, "one")}, (*stream.App).Run)
	select {
	case <-stops.ended:
	case <-stays.ended:
		stays, stops = stops, stays
	case <-time.After(patience):
		t.Fatal("both go on")
	}
	require.ErrorContains(t, stops.err, "another process has joined as instance one.0: ids must be unique")
	fill(t, addrs, records[300:])
	settled(t, addrs)
	require.NoError(t, stays.stop())
	last := finish(t, configFor(addrs, "one"), stays.fs)
	check(t, addrs, records, last.fs)
}
