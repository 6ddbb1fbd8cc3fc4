package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/verify/oracle"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// changelogs are the topics that job's stores are restored from.
var changelogs = []string{"job-chains-changelog", "job-views-changelog", "job-visits-changelog"}

// paused is a cluster whose input was processed, with windows left open, by an
// instance that was then stopped. Records are the whole input; those after n
// are not written yet.
func paused(t *testing.T, n int) (addrs []string, records []oracle.Record[event], i *instance) {
	t.Helper()
	records = input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 2*n)
	addrs = kafkatest.Fake(t).ListenAddrs()
	cluster(t, addrs, records[:n])
	i = start(t, &instance{cfg: configOf(addrs)}, (*stream.App).Run)
	settled(t, addrs)
	require.NoError(t, i.stop())
	return addrs, records, i
}

// settled waits until nothing of the input, nor of the repartition topic's
// records, is left.
func settled(t *testing.T, addrs []string) {
	t.Helper()
	r, ctx := reader(t, addrs)
	kafkatest.Eventually(t, patience, func() error {
		if err := lagOf(ctx, r); err != nil {
			return err
		}
		return unprocessed(ctx, r)
	})
}

// Whatever a changelog ends with, restoring it from nothing ends within seconds.
// (C67)
func TestRestoreTails(t *testing.T) {
	t.Parallel()
	for name, tail := range map[string]func(*testing.T, []string, string){
		"a commit marker": func(*testing.T, []string, string) {},
		"three aborted transactions": func(t *testing.T, addrs []string, topic string) {
			for range 3 {
				inTransaction(t, addrs, junk(topic), kgo.TryAbort)
			}
		},
		"an empty transaction": emptyTransaction,
		"an open transaction": func(t *testing.T, addrs []string, topic string) {
			cl := kafkatest.NewClient(t, addrs, kgo.TransactionalID("hanging-"+topic), kgo.TransactionTimeout(2*time.Second),
				kgo.RecordPartitioner(kgo.ManualPartitioner()))
			require.NoError(t, cl.BeginTransaction())
			require.NoError(t, cl.ProduceSync(context.Background(), junk(topic)...).FirstErr())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addrs, records, i := paused(t, 300)
			for _, topic := range changelogs {
				tail(t, addrs, topic)
			}
			began := time.Now()
			next := start(t, &instance{cfg: i.cfg}, (*stream.App).Run) // on an empty disk
			kafkatest.Eventually(t, 10*time.Second, next.ready)
			t.Logf("restored in %v", time.Since(began))
			fill(t, addrs, records[300:])
			settled(t, addrs)
			require.NoError(t, next.stop())
			last := start(t, &instance{cfg: i.cfg, fs: next.fs}, (*stream.App).RunUntilEnd)
			require.NoError(t, last.wait())
			check(t, addrs, records, last.fs)
		})
	}
}

// junk is a record for every partition of a changelog that must never be seen.
func junk(topic string) (list []*kgo.Record) {
	for p := range partsIn {
		list = append(list, &kgo.Record{Topic: topic, Partition: p, Key: []byte("junk"), Value: []byte("junk")})
	}
	return list
}

// emptyTransaction ends a transaction that the partitions were part of, and that
// holds nothing.
func emptyTransaction(t *testing.T, addrs []string, topic string) {
	t.Helper()
	ctx := context.Background()
	cl := kafkatest.NewClient(t, addrs, kgo.TransactionalID("empty-"+topic))
	id, epoch, err := cl.ProducerID(ctx)
	require.NoError(t, err)
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch = "empty-"+topic, id, epoch
	rt := kmsg.NewAddPartitionsToTxnRequestTopic()
	rt.Topic = topic
	for p := range partsIn {
		rt.Partitions = append(rt.Partitions, p)
	}
	add.Topics = append(add.Topics, rt)
	resp, err := add.RequestWith(ctx, cl)
	require.NoError(t, err)
	for _, rt := range resp.Topics {
		for _, p := range rt.Partitions {
			require.NoError(t, kerr.ErrorForCode(p.ErrorCode))
		}
	}
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = "empty-"+topic, id, epoch, true
	ended, err := end.RequestWith(ctx, cl)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(ended.ErrorCode))
}

// A store whose position lies before the changelog's start is rebuilt from what
// is left of it, and no row of before lives on. Other stores are left alone. A
// changelog that is empty, but does not begin at 0, is restored at once. (C69,
// C70)
func TestChangelogCut(t *testing.T) {
	t.Parallel()
	for _, fromNothing := range []bool{false, true} {
		t.Run(fmt.Sprintf("from nothing=%v", fromNothing), func(t *testing.T) {
			t.Parallel()
			addrs, records, i := paused(t, 300)
			old := crashed(i.fs, 100, 0)
			fill(t, addrs, records[300:])
			next := start(t, &instance{cfg: i.cfg, fs: i.fs}, (*stream.App).Run)
			settled(t, addrs)
			require.NoError(t, next.stop())
			cut(t, addrs, "job-views-changelog")
			if fromNothing {
				old = vfs.NewCrashableMem()
			}
			last := start(t, &instance{cfg: i.cfg, fs: old}, (*stream.App).Run)
			kafkatest.Eventually(t, 10*time.Second, last.ready)
			require.NoError(t, last.stop())
			r, ctx := reader(t, addrs)
			a := audit(ctx, t, r)
			audited(t, last.fs, func(db *state.DB) {
				found, err := a.Check(db)
				require.NoError(t, err)
				require.Equal(t, 9, found.Partitions)
				ranges, err := db.Ranges()
				require.NoError(t, err)
				for _, g := range ranges {
					l := a.Logs["job-"+g.Store+"-changelog"][g.Partition]
					require.GreaterOrEqual(t, g.Position.Offset, l.Start, g.Store)
					if g.Store == "views" {
						require.Equal(t, l.End, l.Start, "it was cut off at its end")
					}
				}
			})
			held := stateOf(t, a)
			require.Empty(t, held["views"])
			want, err := expected(records)
			require.NoError(t, err)
			require.NoError(t, want["chains"].Last().Same(held["chains"]))
			require.NotEmpty(t, held["visits"])
		})
	}
}

// cut deletes all records of a topic.
func cut(t *testing.T, addrs []string, topic string) {
	t.Helper()
	r, ctx := reader(t, addrs)
	ends, err := r.Admin().ListEndOffsets(ctx, topic)
	require.NoError(t, err)
	at := kadm.Offsets{}
	ends.Each(func(e kadm.ListedOffset) { at.AddOffset(topic, e.Partition, e.Offset, -1) })
	resp, err := r.Admin().DeleteRecords(ctx, at)
	require.NoError(t, err)
	require.NoError(t, resp.Error())
}

// Windows that were open when their state was lost close once it is restored,
// each once, and what is closed is gone from disk. (C74)
func TestWindowsCloseAfterRestore(t *testing.T) {
	t.Parallel()
	addrs := kafkatest.Fake(t).ListenAddrs()
	kafkatest.CreateTopic(t, addrs, "wide", 1, nil)
	kafkatest.CreateTopic(t, addrs, "wide-counts", partsOut, nil)
	cfg := stream.Config{Brokers: addrs, Instance: "one"}
	want := oracle.History{}
	record := func(key string, ms int64) *kgo.Record {
		return &kgo.Record{Topic: "wide", Key: []byte(key), Value: []byte("v"), Timestamp: time.UnixMilli(ms)}
	}
	for n := range 50 {
		key := fmt.Sprintf("k%d", n)
		kafkatest.Produce(t, addrs, record(key, 0))
		want[oracle.Key(key, 0, 10_000)] = []string{"1"}
	}
	r, ctx := reader(t, addrs)
	consumedTo := func(n int64) func() error {
		return func() error {
			offsets, err := r.Admin().FetchOffsets(ctx, "large")
			if o, ok := offsets.Lookup("wide", 0); err == nil && (!ok || o.At != n) {
				err = fmt.Errorf("offset %d of %d", o.At, n)
			}
			return err
		}
	}
	i := start(t, &instance{cfg: cfg, top: large}, (*stream.App).Run)
	kafkatest.Eventually(t, patience, consumedTo(50))
	i.kill(0, 0)
	kafkatest.Produce(t, addrs, record("x", 1_000_000))
	for range 2 {
		i = start(t, &instance{cfg: cfg, top: large}, (*stream.App).Run) // on an empty disk
		kafkatest.Eventually(t, patience, i.ready)
		kafkatest.Eventually(t, patience, consumedTo(51))
		kafkatest.Eventually(t, patience, func() error {
			got, _ := history(ctx, t, r, "wide-counts")
			return want.Same(got)
		})
		require.NoError(t, i.stop())
	}
	audited(t, i.fs, func(db *state.DB) {
		ranges, err := db.Ranges()
		require.NoError(t, err)
		require.Len(t, ranges, 1)
	})
	got, _ := history(ctx, t, r, "wide-counts")
	require.NoError(t, want.Same(got))
}

// A process that dies while it restores leaves what the next can go on from.
func TestKilledWhileRestoring(t *testing.T) {
	t.Parallel()
	for _, unsynced := range []int{0, 50, 100} {
		t.Run(fmt.Sprint(unsynced), func(t *testing.T) {
			t.Parallel()
			seed := seedOf(t)
			records := input(rand.New(rand.NewPCG(uint64(seed), 0)), 600)
			c := kafkatest.Fake(t)
			addrs := c.ListenAddrs()
			cluster(t, addrs, records)
			first := start(t, &instance{cfg: configOf(addrs)}, (*stream.App).Run)
			settled(t, addrs)
			require.NoError(t, first.stop())
			release := holdFetches(t, c, addrs, changelogs[2:])
			i := start(t, &instance{cfg: configOf(addrs)}, (*stream.App).Run) // on an empty disk
			kafkatest.Eventually(t, patience, i.assigned)
			left := i.kill(unsynced, seed)
			release()
			last := finish(t, configOf(addrs), crashed(left, 100, 0))
			v := check(t, addrs, records, last.fs)
			auditLeft(t, v.audit, left)
		})
	}
}
