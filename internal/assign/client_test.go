package assign

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafkatest"
)

// The tests of this file hold the client to what the worker's loop and this package rely on, so that an update of it that changes
// one of these is noticed here.

// A traced balancer notes when the client calls it.
type traced struct {
	*Balancer
	note func(string)
}

func (b *traced) JoinGroupMetadata(topics []string, current map[string][]int32, generation int32) []byte {
	b.note("join")
	return b.Balancer.JoinGroupMetadata(topics, current, generation)
}

func (b *traced) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	b.note("parse")
	return b.Balancer.ParseSyncAssignment(assignment)
}

// A trace is what happened to one client, in order.
type trace struct {
	mu    sync.Mutex
	notes []string
}

func (r *trace) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, what)
}

func (r *trace) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

// oneTopic starts a broker with a topic of two partitions of ten records each.
func oneTopic(t *testing.T) []string {
	addrs := kafkatest.Fake(t, kfake.SeedTopics(2, "in")).ListenAddrs()
	for p := range int32(2) {
		for range 10 {
			kafkatest.Produce(t, addrs, &kgo.Record{Topic: "in", Partition: p, Value: []byte("v")})
		}
	}
	return addrs
}

func tracedClient(t *testing.T, addrs []string, r *trace, opts ...kgo.Opt) *kgo.Client {
	b, err := New(Config{Topology: topologyOf(2)})
	require.NoError(t, err)
	return kafkatest.NewClient(t, addrs, append([]kgo.Opt{
		kgo.ConsumerGroup("g"), kgo.Balancers(&traced{b, r.note}), kgo.ConsumeTopics("in"), kgo.BlockRebalanceOnPoll(), kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(50 * time.Millisecond), kgo.FetchMaxWait(50 * time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, m map[string][]int32) {
			if len(m) > 0 {
				r.note("revoke")
			}
		}),
		kgo.OnPartitionsLost(func(ctx context.Context, cl *kgo.Client, m map[string][]int32) {
			r.note("lost")
			b.OnLost(ctx, cl, m)
		}),
		kgo.OnPartitionsCallbackBlocked(func(context.Context, *kgo.Client) { r.note("blocked") }),
	}, opts...)...)
}

func signal(assigned chan struct{}) kgo.Opt {
	return kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { assigned <- struct{}{} })
}

// TestRevokeWaitsForTheWorker: the assignment is parsed while the worker is busy, OnPartitionsCallbackBlocked says that something
// waits, and neither the revoke nor the join after it, which lets others have the task, come before AllowRebalance.
func TestRevokeWaitsForTheWorker(t *testing.T) {
	addrs := oneTopic(t)
	var first, second trace
	assigned := make(chan struct{}, 9)
	cl := tracedClient(t, addrs, &first, signal(assigned))
	<-assigned
	require.NotZero(t, cl.PollRecords(t.Context(), 1).NumRecords())
	other := tracedClient(t, addrs, &second)
	defer other.CloseAllowingRebalance()

	// The session's end waits too: not even the first join of the new generation happens behind the worker's back.
	kafkatest.Eventually(t, 30*time.Second, func() error { return requires(first.all(), "blocked") })
	require.Equal(t, []string{"join", "join", "parse", "blocked"}, first.all(), "two joins: the first gets a member id")
	require.NotZero(t, cl.PollRecords(t.Context(), 1).NumRecords(), "a worker that holds the gate may poll on")
	cl.AllowRebalance()
	kafkatest.Eventually(t, 30*time.Second, func() error { return requires(first.all(), "revoke") })
	<-assigned
	<-assigned
	done := slices.DeleteFunc(first.all(), func(s string) bool { return s == "blocked" })
	require.Equal(t, []string{"join", "parse", "revoke", "join", "parse"}, done[3:8], "the revoke is done before the next join says so")
	cl.CloseAllowingRebalance()
}

func requires(notes []string, want string) error {
	if !slices.Contains(notes, want) {
		return errors.New("no " + want + " yet")
	}
	return nil
}

// TestEmptyPollBlocksToo: a poll that ended by its context holds rebalances back like one with records.
func TestEmptyPollBlocksToo(t *testing.T) {
	addrs := kafkatest.Fake(t, kfake.SeedTopics(2, "in")).ListenAddrs()
	var r, second trace
	assigned := make(chan struct{}, 9)
	cl := tracedClient(t, addrs, &r, signal(assigned))
	<-assigned
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, cl.PollRecords(ctx, 1).Err0(), context.DeadlineExceeded)
	defer tracedClient(t, addrs, &second).CloseAllowingRebalance()
	kafkatest.Eventually(t, 30*time.Second, func() error { return requires(r.all(), "blocked") })
	cl.CloseAllowingRebalance()
}

// TestPauseAndSetOffsetsInOnAssigned: what a worker does in OnPartitionsAssigned comes before the first fetch. A partition paused
// there delivers nothing until it is resumed, and an offset set there wins over the group's.
func TestPauseAndSetOffsetsInOnAssigned(t *testing.T) {
	var r trace
	cl := tracedClient(t, oneTopic(t), &r, kgo.OnPartitionsAssigned(func(_ context.Context, cl *kgo.Client, m map[string][]int32) {
		cl.PauseFetchPartitions(map[string][]int32{"in": {1}})
		cl.SetOffsets(map[string]map[int32]kgo.EpochOffset{"in": {0: {Epoch: -1, Offset: 7}, 1: {Epoch: -1, Offset: 8}}})
	}))
	defer cl.CloseAllowingRebalance()
	offsets := func(n int) (got map[int32][]int64) {
		got = map[int32][]int64{}
		for left := n; left > 0; {
			fs := cl.PollRecords(t.Context(), left)
			require.NoError(t, fs.Err())
			left -= fs.NumRecords()
			fs.EachRecord(func(r *kgo.Record) { got[r.Partition] = append(got[r.Partition], r.Offset) })
			cl.AllowRebalance()
		}
		return got
	}
	require.Equal(t, map[int32][]int64{0: {7, 8, 9}}, offsets(3))

	// Set again after what was read, then let the other go on too.
	cl.SetOffsets(map[string]map[int32]kgo.EpochOffset{"in": {0: {Epoch: -1, Offset: 9}}})
	cl.ResumeFetchPartitions(map[string][]int32{"in": {1}})
	require.Equal(t, map[int32][]int64{0: {9}, 1: {8, 9}}, offsets(3))
}

// TestRefusalReachesThePoller: a topology that the group does not run comes out of the poll.
func TestRefusalReachesThePoller(t *testing.T) {
	addrs := oneTopic(t)
	var first, second trace
	assigned := make(chan struct{}, 9)
	cl := tracedClient(t, addrs, &first, signal(assigned))
	<-assigned
	other, err := New(Config{Topology: topologyOf(1)})
	require.NoError(t, err)
	refused := tracedClient(t, addrs, &second, kgo.Balancers(&traced{other, second.note}))
	fs := refused.PollFetches(t.Context())
	var session *kgo.ErrGroupSession
	require.ErrorAs(t, fs.Err0(), &session)
	var mismatch *TopologyError
	require.ErrorAs(t, fs.Err0(), &mismatch)
	require.True(t, mismatch.Refused)
	require.Contains(t, second.all(), "lost")
	refused.CloseAllowingRebalance()
	require.NotContains(t, first.all(), "revoke")
	cl.CloseAllowingRebalance()
}
