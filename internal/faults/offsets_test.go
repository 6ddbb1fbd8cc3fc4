package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/verify/oracle"
	"github.com/weirstream/weir/stream"
)

// processed is a cluster whose input an instance has processed to its end.
func processed(t *testing.T, n int) (*kfake.Cluster, []oracle.Record[event], *instance) {
	t.Helper()
	records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), n)
	c := kafkatest.Fake(t)
	cluster(t, c.ListenAddrs(), records)
	i := start(t, &instance{cfg: configOf(c.ListenAddrs())}, (*stream.App).RunUntilEnd)
	require.NoError(t, i.wait())
	return c, records, i
}

// Committed offsets that are gone, or that point out of the log, are errors that
// name them. The reset policy is for the very first start.
func TestCommittedOffsetsOutOfReach(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   func(context.Context, *kadm.Client) error
		want string
	}{
		{"all lost", func(ctx context.Context, a *kadm.Client) error {
			_, err := a.DeleteGroup(ctx, "job")
			return err
		}, `^task (0|1)_\d cannot start: group job has no committed offset for topic (in|job-by-user-repartition), partition \d, ` +
			`but .*(changelog job-chains-changelog holds state|records of it were processed|` +
			`repartition topic job-by-user-repartition holds records)`},
		{"lost of the state's input", deleteOffset("job-by-user-repartition", 1),
			"^task 1_1 cannot start: group job has no committed offset for topic job-by-user-repartition, partition 1, but "},
		{"before the log", func(ctx context.Context, a *kadm.Client) error {
			o := kadm.Offsets{}
			o.AddOffset(in.Name, 2, 3, -1)
			_, err := a.CommitOffsets(ctx, "job", o)
			d := kadm.Offsets{}
			d.AddOffset(in.Name, 2, 10, -1)
			_, derr := a.DeleteRecords(ctx, d)
			return errors.Join(err, derr)
		}, "^task 0_2 cannot start: group job: topic in, partition 2: offset 3 was committed, and the log begins at 10: "},
		{"after the log", func(ctx context.Context, a *kadm.Client) error {
			o := kadm.Offsets{}
			o.AddOffset(in.Name, 0, 1_000_000, -1)
			_, err := a.CommitOffsets(ctx, "job", o)
			return err
		}, "^task 0_0 cannot start: group job: topic in, partition 0: offset 1000000 was committed, and the log ends "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, records, i := processed(t, 200)
			r, ctx := reader(t, c.ListenAddrs())
			before, _ := history(ctx, t, r, "echo")
			require.NoError(t, test.do(ctx, r.Admin()))
			fill(t, c.ListenAddrs(), records[:20])
			next := start(t, &instance{cfg: i.cfg, fs: i.fs}, (*stream.App).RunUntilEnd)
			require.Regexp(t, test.want, next.wait())
			after, _ := history(ctx, t, r, "echo")
			if test.name == "all lost" {
				require.Equal(t, before, after, "something was processed again")
			}
		})
	}
}

func deleteOffset(topic string, partition int32) func(context.Context, *kadm.Client) error {
	return func(ctx context.Context, a *kadm.Client) error {
		set := kadm.TopicsSet{}
		set.Add(topic, partition)
		resp, err := a.DeleteOffsets(ctx, "job", set)
		return errors.Join(err, resp.Error())
	}
}

// The committed offset steps over the marker of a transaction, so that no lag is
// left, and another start finds nothing to do. (C65)
func TestInputEndsInTransactions(t *testing.T) {
	t.Parallel()
	for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		t.Run(fmt.Sprintf("commit=%v", end), func(t *testing.T) {
			t.Parallel()
			addrs := kafkatest.Fake(t).ListenAddrs()
			records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 300)
			cluster(t, addrs, nil)
			inTransaction(t, addrs, kafka(records), kgo.TryCommit)
			if end == kgo.TryAbort {
				inTransaction(t, addrs, kafka(records[:9]), kgo.TryAbort)
			}
			i := start(t, &instance{cfg: configOf(addrs)}, (*stream.App).Run)
			r, ctx := reader(t, addrs)
			kafkatest.Eventually(t, patience, func() error { return lagOf(ctx, r) })
			require.NoError(t, i.stop())
			before, _ := history(ctx, t, r, "echo")
			i = start(t, &instance{cfg: i.cfg, fs: i.fs}, (*stream.App).RunUntilEnd)
			require.NoError(t, i.wait())
			after, _ := history(ctx, t, r, "echo")
			require.Equal(t, before, after)
			check(t, addrs, records, i.fs)
		})
	}
}

func inTransaction(t *testing.T, addrs []string, records []*kgo.Record, end kgo.TransactionEndTry) {
	t.Helper()
	cl := kafkatest.NewClient(t, addrs, kgo.TransactionalID("somebody"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, cl.BeginTransaction())
	ctx := context.Background()
	for _, r := range records {
		cl.Produce(ctx, r, nil)
	}
	require.NoError(t, cl.Flush(ctx))
	require.NoError(t, cl.EndTransaction(ctx, end))
	cl.Close()
}

// Nothing of a repartition topic is deleted that was not committed as processed,
// however often, and a crash in between loses nothing. (C78)
func TestPurgeNeverAheadOfCommits(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	records := input(rng, 900)
	c := kafkatest.Fake(t)
	cluster(t, c.ListenAddrs(), records)
	r, ctx := reader(t, c.ListenAddrs())
	purged := 0
	c.ControlKey(int16(kmsg.DeleteRecords), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		done := make(chan error, 1)
		go func() {
			offsets, err := r.Admin().FetchOffsets(ctx, "job")
			for _, topic := range req.(*kmsg.DeleteRecordsRequest).Topics {
				for _, p := range topic.Partitions {
					o, ok := offsets.Lookup(topic.Topic, p.Partition)
					if ok && o.At < p.Offset {
						err = errors.Join(err, fmt.Errorf("%s, partition %d: committed %d, to be deleted %d", topic.Topic, p.Partition, o.At, p.Offset))
					}
					purged++
				}
			}
			done <- err
		}()
		c.SleepControl(func() {
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		return nil, nil, false
	})
	fs := vfs.NewCrashableMem()
	for n := range 5 {
		left := crashing(t, &instance{cfg: configOf(c.ListenAddrs()), purgeEvery: 1, fs: fs},
			crash{points[rng.IntN(len(points))], 3 + n, 50}, seed)
		if left == nil {
			break
		}
		fs = left
	}
	last := start(t, &instance{cfg: configOf(c.ListenAddrs()), purgeEvery: 1, fs: fs}, (*stream.App).RunUntilEnd)
	require.NoError(t, last.wait())
	require.Positive(t, purged, "nothing was purged")
	check(t, c.ListenAddrs(), records, last.fs)
}
