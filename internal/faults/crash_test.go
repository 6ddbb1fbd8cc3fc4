package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/seam"
	"github.com/weirstream/weir/internal/verify"
	"github.com/weirstream/weir/internal/verify/oracle"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// cluster makes the topics of job and fills its input.
func cluster(t *testing.T, addrs []string, records []oracle.Record[event]) {
	t.Helper()
	kafkatest.CreateTopic(t, addrs, in.Name, partsIn, nil)
	for _, name := range outs {
		kafkatest.CreateTopic(t, addrs, name, partsOut, nil)
	}
	kafkatest.Produce(t, addrs, kafka(records)...)
}

// check verifies outputs and state after a bounded run: the input was processed
// to its end, everything is closed.
func check(t *testing.T, addrs []string, records []oracle.Record[event], fs *vfs.MemFS) *verify.Audit {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := verify.NewReader(kgo.SeedBrokers(addrs...))
	require.NoError(t, err)
	defer r.Close()
	require.NoError(t, r.Settle(ctx, outs...))
	want, err := expected(records)
	require.NoError(t, err)
	for _, name := range outs {
		got, err := history(ctx, r, name)
		require.NoError(t, err)
		if name == "echo" || name == "views-final" || name == "visits-final" {
			require.NoError(t, want[name].Same(got), name)
			continue
		}
		if name == "visits" { // which sessions there were on the way depends on the order between partitions
			alone := func(k string) bool { return !shared(k) }
			require.NoError(t, want[name].Last().Same(got.Last()), name)
			want[name], got = want[name].Only(alone), got.Only(alone)
		}
		require.NoError(t, want[name].Coalesced(got), name)
	}
	plan, err := seam.PlanOf(job(), "")
	require.NoError(t, err)
	a, err := verify.NewAudit(ctx, r, plan, closes)
	require.NoError(t, err)
	audited(t, fs, func(db *state.DB) {
		_, err := a.Check(db)
		require.NoError(t, err)
	})
	requireState(t, a, want)
	return a
}

// history reads a topic of text into a history.
func history(ctx context.Context, r *verify.Reader, topic string) (oracle.History, error) {
	logs, err := r.Topic(ctx, topic)
	h := oracle.History{}
	for _, l := range logs {
		for _, rec := range l.Records {
			v := oracle.Gone
			if rec.Value != nil {
				v = string(rec.Value)
			}
			h[string(rec.Key)] = append(h[string(rec.Key)], v)
		}
	}
	return h, err
}

// requireState compares what the changelogs hold with the oracle, once all
// windows are closed.
func requireState(t *testing.T, a *verify.Audit, want map[string]oracle.History) {
	t.Helper()
	for _, s := range a.Stores {
		got := oracle.History{}
		for p := range a.Logs[s.Changelog] {
			for k, row := range a.Rows(s, int32(p)) {
				r, err := verify.DecodeRow(s.Kind, k, row)
				require.NoError(t, err)
				if r.Marker {
					continue
				}
				c, err := chains.Decode(r.Value)
				require.NoError(t, err)
				key, err := keys.Decode(r.Key)
				require.NoError(t, err)
				got[key] = append(got[key], c.String())
			}
		}
		if s.Kind == "key-value" {
			require.NoError(t, want[s.Name].Last().Same(got), s.Name)
			continue
		}
		require.Empty(t, got, "%s: all windows are closed", s.Name)
	}
}

// A plan says where a process dies.
type crash struct {
	at       checkpoint.Point
	nth      int
	unsynced int
}

// crashing runs an instance to the crash and returns the disk that is left.
func crashing(t *testing.T, cfg stream.Config, fs *vfs.MemFS, c crash, seed int64) *vfs.MemFS {
	t.Helper()
	var hits atomic.Int64
	var left atomic.Pointer[vfs.MemFS]
	i := &instance{cfg: cfg, fs: fs, net: &network{}}
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
	var crash *checkpoint.CrashError
	require.ErrorAs(t, i.wait(), &crash)
	return left.Load()
}

func TestCrashPoints(t *testing.T) {
	points := []checkpoint.Point{
		checkpoint.AfterPoll, checkpoint.AfterProcess, checkpoint.AfterFlush, checkpoint.BeforeOffsets, checkpoint.AfterOffsets,
		checkpoint.BeforeEnd, checkpoint.AfterEnd, checkpoint.BeforeWrite, checkpoint.DuringWrite,
	}
	for n, at := range points {
		for _, unsynced := range []int{0, 50, 100} {
			c := crash{at, 2 + n%3, unsynced}
			t.Run(fmt.Sprintf("%s/%d", at, unsynced), func(t *testing.T) {
				t.Parallel()
				seed := time.Now().UnixNano()
				t.Log("seed", seed)
				crashTest(t, c, seed)
			})
		}
	}
}

func crashTest(t *testing.T, c crash, seed int64) {
	records := input(rand.New(rand.NewPCG(uint64(seed), 0)), 600)
	addrs := kafkatest.Fake(t).ListenAddrs()
	cluster(t, addrs, records)
	cfg := stream.Config{Brokers: addrs, Instance: "one"}
	left := crashing(t, cfg, nil, c, seed)
	began := time.Now()
	next := start(t, &instance{cfg: cfg, fs: left}, (*stream.App).RunUntilEnd)
	require.NoError(t, next.wait())
	t.Logf("recovered in %v", time.Since(began))
	check(t, addrs, records, next.fs)
}
