// Package client is a worker's connection to Kafka: one consumer, one group
// member and one transactional producer. It adds to franz-go's client what the
// commit protocol needs and no more.
package client

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/assign"
	"github.com/weirstream/weir/internal/flow"
)

// A Config says what a client connects to, and as whom.
type Config struct {
	Context  context.Context // ends waiting for room to write
	Common   []kgo.Opt       // brokers, TLS, SASL
	Last     []kgo.Opt       // by tests
	Group    string
	Instance string // the group's static member id, and the end of the transactional id
	Balancer *assign.Balancer
	Topics   []string // to read
	Catalog  *Catalog

	Transactional      bool
	SessionTimeout     time.Duration
	TransactionTimeout time.Duration
	FetchMaxBytes      int32                    // of one partition's part of a fetch
	BufferBytes        int64                    // for records fetched ahead, and as much for records to be written
	Assigned           func(map[string][]int32) // before fetching begins
	Blocked            func()                   // a rebalance waits for the worker
}

// A Client is a worker's client. It is used by the worker's goroutine.
type Client struct {
	cfg  Config
	kgo  *kgo.Client
	out  output
	beat *heartbeats

	parts *assignment
}

// New connects. Joining the group begins at once.
func New(cfg Config) (*Client, error) {
	c := &Client{cfg: cfg, beat: &heartbeats{}, parts: newAssignment()}
	c.out.init(c)
	opts := append([]kgo.Opt{}, cfg.Common...)
	opts = append(opts,
		kgo.ConsumerGroup(cfg.Group), kgo.InstanceID(cfg.Instance), kgo.Balancers(cfg.Balancer), kgo.ConsumeTopics(cfg.Topics...),
		kgo.SessionTimeout(cfg.SessionTimeout), kgo.RebalanceTimeout(30*time.Second),
		kgo.HeartbeatInterval(min(time.Second, cfg.SessionTimeout/4)),
		kgo.BlockRebalanceOnPoll(), kgo.DisableAutoCommit(), kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// The worker sets offsets itself, before it lets a partition be fetched:
		// there is no policy that could skip or repeat records.
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.AdjustFetchOffsetsFn(fromStart),
		kgo.FetchMaxPartitionBytes(cfg.FetchMaxBytes), kgo.FetchMaxWait(500*time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytesFn(cfg.Catalog.MaxBytes), kgo.MaxBufferedRecords(1<<20), kgo.MaxBufferedBytes(int(cfg.BufferBytes)),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.OnPartitionsAssigned(c.assigned), kgo.OnPartitionsLost(c.lost),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) { c.parts.remove(parts) }),
		kgo.OnPartitionsCallbackBlocked(func(context.Context, *kgo.Client) { cfg.Blocked() }),
		kgo.WithHooks(c.beat), kgo.WithPools(&pool{}),
	)
	if cfg.Transactional {
		opts = append(opts, kgo.TransactionalID(cfg.Group+"."+cfg.Instance), kgo.TransactionTimeout(cfg.TransactionTimeout))
	}
	var err error
	c.kgo, err = kgo.NewClient(append(opts, cfg.Last...)...)
	return c, err
}

// Init makes the client the one producer with its transactional id: it ends the
// transaction that a predecessor may have left open, on which restoring would
// wait, and fences that predecessor.
func (c *Client) Init(ctx context.Context) error {
	if !c.cfg.Transactional {
		return nil
	}
	_, _, err := c.kgo.ProducerID(ctx)
	return err
}

// assigned runs before the first fetch: the worker has the partitions paused
// until it has opened their tasks.
func (c *Client) assigned(ctx context.Context, cl *kgo.Client, added map[string][]int32) {
	cl.PauseFetchPartitions(added)
	c.cfg.Balancer.OnAssigned(ctx, cl, added)
	c.parts.add(added)
	c.cfg.Assigned(added)
}

// lost runs when the group has thrown the member out.
func (c *Client) lost(ctx context.Context, cl *kgo.Client, parts map[string][]int32) {
	c.parts.remove(parts)
	c.cfg.Balancer.OnLost(ctx, cl, parts)
}

// fromStart keeps the client from failing where nothing was committed: nothing
// is fetched before the worker has set an offset.
func fromStart(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	for _, ps := range offsets {
		for p, o := range ps {
			if o.EpochOffset().Offset < 0 {
				ps[p] = kgo.NewOffset().AtStart()
			}
		}
	}
	return offsets, nil
}

// Poll returns what was fetched, waiting until ctx ends. Rebalances are blocked
// from now on until AllowRebalance.
func (c *Client) Poll(ctx context.Context, maxRecords int) kgo.Fetches {
	return c.kgo.PollRecords(ctx, maxRecords)
}

// AllowRebalance lets a rebalance that waits go on. No transaction may be open.
func (c *Client) AllowRebalance() { c.kgo.AllowRebalance() }

// Resume sets where partitions are read from, and begins to fetch them.
func (c *Client) Resume(at map[string]map[int32]int64) {
	set := map[string]map[int32]kgo.EpochOffset{}
	parts := map[string][]int32{}
	for topic, ps := range at {
		set[topic] = map[int32]kgo.EpochOffset{}
		for p, offset := range ps {
			set[topic][p] = kgo.EpochOffset{Epoch: -1, Offset: offset}
			parts[topic] = append(parts[topic], p)
		}
	}
	c.kgo.SetOffsets(set)
	c.kgo.ResumeFetchPartitions(parts)
}

// Pause stops fetching partitions.
func (c *Client) Pause(parts map[string][]int32) { c.kgo.PauseFetchPartitions(parts) }

// Unpause fetches partitions again, from where they were.
func (c *Client) Unpause(parts map[string][]int32) { c.kgo.ResumeFetchPartitions(parts) }

// LeaveGroup leaves the group for good, so that others need not wait for the
// session to time out. A static member does not leave by itself.
func (c *Client) LeaveGroup(ctx context.Context) error {
	c.kgo.AllowRebalance()
	member, _ := c.kgo.GroupMetadata()
	if member == "" {
		return nil
	}
	// The client must stop managing the group first, or its next heartbeat would
	// make it join again.
	if err := c.kgo.LeaveGroupContext(ctx); err != nil {
		return err
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = c.cfg.Group
	m := kmsg.NewLeaveGroupRequestMember()
	m.InstanceID, m.MemberID = &c.cfg.Instance, member
	req.Members = append(req.Members, m)
	_, err := req.RequestWith(ctx, c.kgo)
	return err
}

// Close closes the client. What was not committed is dropped.
func (c *Client) Close() { c.kgo.CloseAllowingRebalance() }

// Kgo is the client beneath, for administration.
func (c *Client) Kgo() *kgo.Client { return c.kgo }

// heartbeats notes when the group's coordinator last answered a heartbeat.
type heartbeats struct{ last atomic.Int64 }

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (h *heartbeats) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	switch kmsg.Key(key) {
	case kmsg.Heartbeat, kmsg.JoinGroup, kmsg.SyncGroup:
		if e2e.Err() == nil {
			h.last.Store(time.Now().Add(-e2e.DurationE2E()).UnixNano())
		}
	}
}

// Fresh reports whether the group has heard of this member within half the
// session timeout.
func (c *Client) Fresh() bool {
	return time.Since(time.Unix(0, c.beat.last.Load())) < c.cfg.SessionTimeout/2
}

var _ interface {
	flow.Output
	End(*flow.Topic, int32) int64
} = (*Outputs)(nil)
