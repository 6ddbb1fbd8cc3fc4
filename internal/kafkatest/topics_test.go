package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestFakeBroker(t *testing.T) {
	addrs := Fake(t, kfake.NumBrokers(3)).ListenAddrs()
	CreateTopic(t, addrs, "in", 4, nil)
	Produce(t, addrs,
		&kgo.Record{Topic: "in", Partition: 3, Key: []byte("a"), Timestamp: time.UnixMilli(5)},
		&kgo.Record{Topic: "in", Partition: 1, Key: []byte("b"), Timestamp: time.UnixMilli(0)},
		&kgo.Record{Topic: "in", Partition: 3, Key: []byte("c"), Timestamp: time.UnixMilli(1357034400000)},
	)
	got := ReadAll(t, addrs, "in", kgo.ReadUncommitted())
	require.Equal(t, []string{"", "b@0", "", "a@5 c@1357034400000"}, contents(got))

	CreateTopic(t, addrs, "transactions", 1, nil)
	transactions(t, addrs, "transactions")
}

// transactions ends a log in every way that has no record at its end, and reads it after each step.
func transactions(t *testing.T, addrs []string, topic string) {
	t.Helper()
	producer := func(id string) *kgo.Client {
		return NewClient(t, addrs, kgo.TransactionalID(topic+id), kgo.DefaultProduceTopic(topic))
	}
	first, second := producer("-1"), producer("-2")
	write := func(p *kgo.Client, keys ...string) {
		require.NoError(t, p.BeginTransaction())
		for _, key := range keys {
			r := &kgo.Record{Key: []byte(key), Timestamp: time.UnixMilli(1)}
			require.NoError(t, p.ProduceSync(t.Context(), r).FirstErr())
		}
	}
	end := func(p *kgo.Client, how kgo.TransactionEndTry) { require.NoError(t, p.EndTransaction(t.Context(), how)) }
	expect := func(committed, uncommitted string) {
		t.Helper()
		require.Equal(t, []string{committed}, contents(ReadAll(t, addrs, topic, kgo.ReadCommitted())))
		require.Equal(t, []string{uncommitted}, contents(ReadAll(t, addrs, topic, kgo.ReadUncommitted())))
	}

	expect("", "")
	write(first, "a")
	end(first, kgo.TryCommit) // the tail is a marker
	expect("a@1", "a@1")
	write(first, "b", "c")
	end(first, kgo.TryAbort) // the tail is aborted records and a marker
	expect("a@1", "a@1 b@1 c@1")
	write(first, "d")
	write(second, "e")
	end(first, kgo.TryAbort) // before the last stable offset stands nothing but an aborted record; e is open
	expect("a@1", "a@1 b@1 c@1 d@1 e@1")
	end(second, kgo.TryCommit)
	expect("a@1 e@1", "a@1 b@1 c@1 d@1 e@1")
}

func TestReadAllStartsAtTheLogStart(t *testing.T) {
	cluster := Fake(t)
	CreateTopic(t, cluster.ListenAddrs(), "purged", 1, nil)
	for i := range 5 {
		Produce(t, cluster.ListenAddrs(), &kgo.Record{Topic: "purged", Key: fmt.Append(nil, i), Timestamp: time.UnixMilli(1)})
	}
	require.NoError(t, cluster.DeleteRecords("purged", 0, 3))
	require.Equal(t, []string{"3@1 4@1"}, contents(ReadAll(t, cluster.ListenAddrs(), "purged", kgo.ReadCommitted())))
}

func TestCommittedOffsets(t *testing.T) {
	addrs := Fake(t).ListenAddrs()
	CreateTopic(t, addrs, "in", 2, nil)
	require.Empty(t, CommittedOffsets(t, addrs, "nobody"))

	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: "in", Partition: 1, At: 7, LeaderEpoch: -1, Metadata: "note"})
	require.NoError(t, kadm.NewClient(NewClient(t, addrs)).CommitAllOffsets(context.Background(), "group", offsets))
	got, ok := CommittedOffsets(t, addrs, "group").Lookup("in", 1)
	require.True(t, ok)
	require.EqualValues(t, 7, got.At)
	require.Equal(t, "note", got.Metadata)
}

// An offset that a transaction has not yet committed is neither ignored nor taken for committed.
func TestCommittedOffsetsWaitForTransactions(t *testing.T) {
	cluster := Fake(t)
	addrs := cluster.ListenAddrs()
	CreateTopic(t, addrs, "in", 1, nil)
	producer := NewClient(t, addrs, kgo.TransactionalID("id"), kgo.DefaultProduceTopic("in"))
	require.NoError(t, producer.BeginTransaction())
	require.NoError(t, producer.ProduceSync(t.Context(), &kgo.Record{Key: []byte("a")}).FirstErr())
	pid, epoch, err := producer.ProducerID(t.Context())
	require.NoError(t, err)

	var before kadm.Offsets
	before.Add(kadm.Offset{Topic: "in", At: 5, LeaderEpoch: -1})
	require.NoError(t, kadm.NewClient(producer).CommitAllOffsets(t.Context(), "group", before))

	begin := kmsg.NewPtrAddOffsetsToTxnRequest()
	begin.TransactionalID, begin.ProducerID, begin.ProducerEpoch, begin.Group = "id", pid, epoch, "group"
	begun, err := begin.RequestWith(t.Context(), producer)
	require.NoError(t, err)
	require.Zero(t, begun.ErrorCode)
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = "id", pid, epoch, "group"
	commit.Generation = -1
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Offset = 7
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	detail, err := leaders(t.Context(), kadm.NewClient(producer), "in")
	require.NoError(t, err)
	topic.Topic, topic.TopicID, topic.Partitions = "in", detail.ID, append(topic.Partitions, partition)
	commit.Topics = append(commit.Topics, topic)
	pending, err := commit.RequestWith(t.Context(), producer)
	require.NoError(t, err)
	require.Zero(t, pending.Topics[0].Partitions[0].ErrorCode)

	asked := make(chan struct{})
	ask := sync.OnceFunc(func() { close(asked) })
	cluster.ControlKey(int16(kmsg.OffsetFetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		ask()
		return nil, nil, false
	})
	ended := make(chan error, 1)
	go func() {
		<-asked
		ended <- producer.EndTransaction(context.Background(), kgo.TryCommit)
	}()
	got, ok := CommittedOffsets(t, addrs, "group").Lookup("in", 0)
	require.NoError(t, <-ended)
	require.True(t, ok)
	require.EqualValues(t, 7, got.At)
}

func TestEventually(t *testing.T) {
	calls := 0
	Eventually(t, time.Minute, func() error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	require.Equal(t, 3, calls)

	f := &failing{TB: t}
	Eventually(f, 0, func() error { return errors.New("never") })
	require.Equal(t, "not so after 0s: never", f.message)
}

func TestSkipFailsInCI(t *testing.T) {
	for ci, want := range map[string]string{
		"true": "this test may not be skipped when CI=true: no java",
		"":     "skip: no java",
	} {
		t.Setenv("CI", ci)
		f := &failing{TB: t}
		Skip(f, "no %s", "java")
		require.Equal(t, want, f.message)
	}
}

func TestMissingNamesThePrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	require.Contains(t, Missing(), "needs bash, flock, java, mvn:")
}

// failing notes the first thing that was said instead of ending the test.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatalf(format string, args ...any) { f.note(fmt.Sprintf(format, args...)) }
func (f *failing) Skip(args ...any)                  { f.note("skip: " + fmt.Sprint(args...)) }

func (f *failing) note(message string) {
	if f.message == "" {
		f.message = message
	}
}

// contents writes each partition's records as "key@timestamp", separated by spaces.
func contents(partitions [][]*kgo.Record) []string {
	var lines []string
	for _, records := range partitions {
		var line string
		for i, r := range records {
			if i > 0 {
				line += " "
			}
			line += fmt.Sprintf("%s@%d", r.Key, r.Timestamp.UnixMilli())
		}
		lines = append(lines, line)
	}
	return lines
}
