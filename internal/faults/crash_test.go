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
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/verify"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A crash says where a process dies, and how much of what it did not sync stays.
type crash struct {
	at       checkpoint.Point
	nth      int
	unsynced int
}

func (c crash) String() string { return fmt.Sprintf("%s, time %d, %d%%", c.at, c.nth, c.unsynced) }

// crashing runs an instance on a file system to the crash, and returns the disk
// that is left. It is nil if the input ended before.
func crashing(t *testing.T, i *instance, c crash, seed int64) *vfs.MemFS {
	t.Helper()
	var hits atomic.Int64
	var left atomic.Pointer[vfs.MemFS]
	i.net = &network{}
	i.hook = func(p checkpoint.Point) error {
		if left.Load() != nil {
			return errors.New("it is dead already")
		}
		if p != c.at || hits.Add(1) < int64(c.nth) {
			return nil
		}
		left.Store(crashed(i.fs, c.unsynced, seed))
		i.net.Cut()
		return errors.New("asked for")
	}
	start(t, i, (*stream.App).RunUntilEnd)
	err := i.wait()
	if left.Load() == nil {
		require.NoError(t, err)
		return nil
	}
	var crash *checkpoint.CrashError
	if err != nil { // it may have died while it stopped, at the end
		require.ErrorAs(t, err, &crash)
	}
	return left.Load()
}

// points are all crash points but the one between two steps of a closing, which
// takes a closing that is larger than job's.
var points = []checkpoint.Point{
	checkpoint.AfterPoll, checkpoint.AfterProcess, checkpoint.AfterFlush, checkpoint.BeforeOffsets, checkpoint.AfterOffsets,
	checkpoint.BeforeEnd, checkpoint.AfterEnd, checkpoint.BeforeWrite, checkpoint.DuringWrite,
}

// open says at which points a transaction with records is open.
var open = map[checkpoint.Point]bool{
	checkpoint.AfterFlush: true, checkpoint.BeforeOffsets: true, checkpoint.AfterOffsets: true, checkpoint.BeforeEnd: true,
}

func configOf(addrs []string) stream.Config {
	return stream.Config{Brokers: addrs, Instance: "one", FetchMaxBytes: 512}
}

// A process dies at each point. Another takes its place on what is left of its
// disk, and the answer is the oracle's.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for n, at := range points {
		for m, unsynced := range []int{0, 50, 100} {
			c := crash{at, 2 + (n+m)%4, unsynced}
			t.Run(fmt.Sprintf("%s/%d", at, unsynced), func(t *testing.T) {
				t.Parallel()
				seed := seedOf(t)
				records := input(rand.New(rand.NewPCG(uint64(seed), 0)), 600)
				addrs := kafkatest.Fake(t).ListenAddrs()
				cluster(t, addrs, records)
				left := crashing(t, &instance{cfg: configOf(addrs)}, c, seed)
				require.NotNil(t, left, "the crash point was not reached")
				next := start(t, &instance{cfg: configOf(addrs), fs: crashed(left, 100, 0)}, (*stream.App).RunUntilEnd)
				require.NoError(t, next.wait())
				v := check(t, addrs, records, next.fs)
				if open[c.at] {
					require.Positive(t, v.aborted, "the crash aborted nothing")
				}
				auditLeft(t, v.audit, left)
			})
		}
	}
}

// auditLeft audits the disk that a crash has left.
func auditLeft(t *testing.T, a *verify.Audit, left *vfs.MemFS) {
	t.Helper()
	audited(t, left, func(db *state.DB) {
		found, err := a.Check(db)
		require.NoError(t, err)
		t.Logf("left on disk: %+v", found)
	})
}

// Processes die again and again, at random points, one on the other's disk.
func TestManyCrashes(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			seed := seedOf(t)
			rng := rand.New(rand.NewPCG(uint64(seed), 1))
			records := input(rng, 900)
			addrs := kafkatest.Fake(t).ListenAddrs()
			cluster(t, addrs, records)
			var disks []*vfs.MemFS
			fs := vfs.NewCrashableMem()
			for range 6 {
				c := crash{points[rng.IntN(len(points))], 1 + rng.IntN(6), []int{0, 30, 70, 100}[rng.IntN(4)]}
				t.Log(c)
				left := crashing(t, &instance{cfg: configOf(addrs), fs: fs}, c, rng.Int64())
				if left == nil {
					break
				}
				disks = append(disks, left)
				fs = crashed(left, 100, 0)
			}
			last := start(t, &instance{cfg: configOf(addrs), fs: fs}, (*stream.App).RunUntilEnd)
			require.NoError(t, last.wait())
			require.NotEmpty(t, disks, "nothing crashed")
			v := check(t, addrs, records, last.fs)
			for _, left := range disks {
				auditLeft(t, v.audit, left)
			}
		})
	}
}

// Processes are killed at any moment, wherever they are. (C76)
func TestKilledAnytime(t *testing.T) {
	t.Parallel()
	for n := range 2 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			seed := seedOf(t)
			rng := rand.New(rand.NewPCG(uint64(seed), 2))
			records := input(rng, 900)
			c := kafkatest.Fake(t)
			addrs := c.ListenAddrs()
			cluster(t, addrs, records)
			var fetches atomic.Int64
			c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				fetches.Add(1)
				return nil, nil, false
			})
			fs := vfs.NewCrashableMem()
			var disks []*vfs.MemFS
			for range 5 {
				until := fetches.Load() + 1 + rng.Int64N(15)
				i := start(t, &instance{cfg: configOf(addrs), fs: fs}, (*stream.App).Run)
				for tick := time.Tick(time.Millisecond); fetches.Load() < until; {
					<-tick
				}
				left := i.kill([]int{0, 10, 50, 100}[rng.IntN(4)], rng.Int64())
				disks = append(disks, left)
				fs = crashed(left, 100, 0)
			}
			last := finish(t, configOf(addrs), fs)
			v := check(t, addrs, records, last.fs)
			for _, left := range disks {
				auditLeft(t, v.audit, left)
			}
		})
	}
}

// Without transactions a crash may repeat, but not lose.
func TestCrashPointsAtLeastOnce(t *testing.T) {
	t.Parallel()
	for n, at := range points {
		c := crash{at, 2 + n%4, 50}
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			seed := seedOf(t)
			records := input(rand.New(rand.NewPCG(uint64(seed), 0)), 600)
			addrs := kafkatest.Fake(t).ListenAddrs()
			cluster(t, addrs, records)
			cfg := configOf(addrs)
			cfg.Guarantee = stream.AtLeastOnce
			left := crashing(t, &instance{cfg: cfg}, c, seed)
			require.NotNil(t, left, "the crash point was not reached")
			next := start(t, &instance{cfg: cfg, fs: left}, (*stream.App).RunUntilEnd)
			require.NoError(t, next.wait())
			checkAtLeast(t, addrs, records)
			r, ctx := reader(t, addrs)
			auditLeft(t, audit(ctx, t, r), next.fs)
		})
	}
}

func seedOf(t *testing.T) int64 {
	seed := time.Now().UnixNano()
	t.Log("seed", seed)
	return seed
}
