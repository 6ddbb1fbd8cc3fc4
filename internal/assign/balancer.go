package assign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ProtocolName is the name under which Weir's balancer is known to brokers. Members of one group must have it in common.
const ProtocolName = "weir-cooperative"

// A Config says what one worker's balancer works with.
type Config struct {
	// Instance names the process: workers with equal names share local state.
	Instance string
	// Topology lists the sub-topologies that have source topics. It is fixed for the life of the balancer.
	Topology []SubTopology
	// Warm returns the tasks whose state the instance holds locally. It is called at each join, from the client's goroutine, must
	// not block and must be safe to call at any time. Nil means none. The workers of an instance may each report all, or one for all.
	Warm func() []WarmTask
}

// A Balancer is the kgo.GroupBalancer of one worker's client; it serves no other. Owned may be called from any goroutine.
type Balancer struct {
	cfg    Config
	layout layout

	now atomic.Pointer[Ownership]

	mu      sync.Mutex // guards what follows, and changes of now
	attempt int64
}

var _ kgo.GroupBalancer = (*Balancer)(nil)

// New returns a balancer, or what is wrong with the topology.
func New(cfg Config) (*Balancer, error) {
	if err := checkTopology(cfg.Topology); err != nil {
		return nil, err
	}
	b := &Balancer{cfg: cfg, layout: newLayout(cfg.Topology)}
	b.now.Store(&Ownership{Generation: -1})
	return b, nil
}

// Owned returns what the member runs according to the last assignment. It takes no lock.
func (b *Balancer) Owned() Ownership { return *b.now.Load() }

// Partitions returns the partitions that the tasks read, by topic.
func (b *Balancer) Partitions(tasks ...Task) map[string][]int32 { return b.layout.partitions(tasks) }

// OnAssigned is to be called by the client's kgo.OnPartitionsAssigned. If a task waits for this member to join again and the client
// sees no reason to, it makes it. That happens to a static member that was restarted after its assignment took a task away and
// before it had joined again: the broker replays the assignment without a rebalance, and nobody else would start one.
func (b *Balancer) OnAssigned(_ context.Context, cl *kgo.Client, _ map[string][]int32) {
	if b.Owned().Rejoin {
		cl.ForceRebalance()
	}
}

// OnLost is to be called by the client's kgo.OnPartitionsLost: nothing is owned any more. What a bad assignment left in
// Ownership.Err, for which the client calls this too, stays.
func (b *Balancer) OnLost(context.Context, *kgo.Client, map[string][]int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.disown(b.Owned().Err)
}

// ProtocolName implements kgo.GroupBalancer.
func (*Balancer) ProtocolName() string { return ProtocolName }

// IsCooperative implements kgo.GroupBalancer: members go on with what they keep while the group rebalances.
func (*Balancer) IsCooperative() bool { return true }

// JoinGroupMetadata implements kgo.GroupBalancer. The client calls it before each JoinGroup, with the partitions of its last session
// (none once the session was lost) and the generation of its last successful join.
func (b *Balancer) JoinGroupMetadata(_ []string, current map[string][]int32, generation int32) []byte {
	var warm []WarmTask
	if b.cfg.Warm != nil {
		warm = sortedWarm(b.cfg.Warm())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Owned()
	if generation == now.Generation+1 && now.Generation >= 0 {
		now.Generation++ // our claims were in that join's plan, so it gave them to nobody else
	}
	kept := slices.DeleteFunc(slices.Clone(now.Tasks), func(g Grant) bool { return !covers(current, b.layout.partitions([]Task{g.Task})) })
	if len(kept) != len(now.Tasks) || len(now.Releasing) > 0 {
		now.Seq++
		now.Tasks, now.Releasing = kept, nil
	}
	b.now.Store(&now)

	d := memberData{instance: b.cfg.Instance, fingerprint: b.layout.fingerprint, generation: now.Generation, attempt: b.attempt, warm: warm}
	for _, g := range kept {
		d.owned = append(d.owned, g.Task)
	}
	if len(d.owned) == 0 {
		d.generation = -1
	}
	d.partitions = b.layout.partitions(d.owned)
	return d.encode(b.layout.topics)
}

// covers reports whether have includes all of want.
func covers(have, want map[string][]int32) bool {
	for topic, partitions := range want {
		for _, p := range partitions {
			if !slices.Contains(have[topic], p) {
				return false
			}
		}
	}
	return true
}

// ParseSyncAssignment implements kgo.GroupBalancer: it takes over what the leader's plan gives this member. An error makes the client
// drop all its partitions, report the error to the poller within a *kgo.ErrGroupSession, and join again after a pause.
func (b *Balancer) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	d, err := parseShare(assignment)
	if err == nil {
		err = b.check(d)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		var topology *TopologyError
		if errors.As(err, &topology) && !topology.Refused {
			b.attempt++ // or the broker would replay the same assignment
		}
		b.disown(err)
		return nil, err
	}
	b.adopt(d)
	return d.partitions, nil
}

// check returns why an assignment cannot be followed.
func (b *Balancer) check(d shareData) error {
	if d.verdict == unreadable {
		return errors.New("assign: the group's leader could not read this member's metadata: the instances run versions of Weir that " +
			"do not work together; update all of them")
	}
	if d.verdict != accepted || d.fingerprint != b.layout.fingerprint {
		return &TopologyError{Own: b.layout.fingerprint, Group: d.fingerprint, Refused: d.verdict != accepted}
	}
	for _, t := range slices.Concat(d.tasks, d.release) {
		if !b.layout.has(t) {
			return fmt.Errorf("assign: the group's leader assigned task %v, which the topology does not have", t)
		}
	}
	for _, partitions := range d.partitions {
		slices.Sort(partitions)
	}
	if !maps.EqualFunc(d.partitions, b.layout.partitions(d.tasks), slices.Equal) {
		return errors.New("assign: the partitions assigned by the group's leader are not those of the tasks assigned")
	}
	return nil
}

// adopt makes an assignment the present ownership. Tasks stay what they were only if the claims on them were unbroken up to the
// generation before; those taken away may be finished only then, too.
func (b *Balancer) adopt(d shareData) {
	old := b.Owned()
	unbroken := old.Generation >= 0 && (d.generation == old.Generation || d.generation == old.Generation+1)
	next := &Ownership{Seq: old.Seq + 1, Generation: d.generation}
	for _, t := range d.tasks {
		g := Grant{Task: t, Since: next.Seq}
		if i, had := slices.BinarySearchFunc(old.Tasks, t, compareGrant); had && unbroken {
			g = old.Tasks[i]
		}
		next.Tasks = append(next.Tasks, g)
	}
	lost := false
	for _, g := range old.Tasks {
		if _, kept := slices.BinarySearchFunc(d.tasks, g.Task, compareTasks); kept {
			continue
		}
		lost = true
		if _, ours := slices.BinarySearchFunc(d.release, g.Task, compareTasks); ours && unbroken {
			next.Releasing = append(next.Releasing, g)
		}
	}
	next.Rejoin = d.rejoin && !lost
	b.now.Store(next)
}

// disown gives everything up, because of err if that is not nil.
func (b *Balancer) disown(err error) {
	b.now.Store(&Ownership{Seq: b.Owned().Seq + 1, Generation: -1, Err: err})
}

// MemberBalancer implements kgo.GroupBalancer: it is called when this member leads the group. It never fails: a member that cannot be
// understood is told so in its assignment instead of stopping the group.
func (b *Balancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	return &leader{layout: b.layout, members: members}, nil, nil
}
