package assign

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafkatest"
)

// A room is a group of real clients whose balancers only move while it looks on.
type room struct {
	t        *testing.T
	addrs    []string
	group    string
	topology []SubTopology
	tasks    []Task

	mu      sync.Mutex
	workers []*roomWorker // those alive
	doubles []string      // tasks seen with two owners
}

// A roomWorker does what a worker of the engine does with its client, without the work.
type roomWorker struct {
	*Balancer
	room   *room
	name   string
	cl     *kgo.Client
	cancel context.CancelFunc
	done   chan struct{}

	diesReleasing bool // dies, closing died, when its assignment takes something away, before it can act on that
	died          chan struct{}

	connMu sync.Mutex
	cut    bool
	conns  []net.Conn

	assigned map[string]map[int32]bool // what the client's callbacks add up to; guarded by room.mu
}

func newRoom(t *testing.T, addrs []string) *room {
	name := t.Name() + "-" + uuid.NewString()[:8]
	r := &room{t: t, addrs: addrs, group: name, topology: []SubTopology{
		{ID: 0, Topics: []string{name + "-clicks", name + "-rates"}, Partitions: 7, Counts: map[string]int32{name + "-rates": 2}},
		{ID: 1, Topics: []string{name + "-orders"}, Partitions: 4},
	}}
	r.tasks = newLayout(r.topology).tasks
	for _, sub := range r.topology {
		for _, topic := range sub.Topics {
			kafkatest.CreateTopic(t, addrs, topic, sub.count(topic), nil)
		}
	}
	return r
}

// JoinGroupMetadata and ParseSyncAssignment are where ownership changes.
func (w *roomWorker) JoinGroupMetadata(topics []string, current map[string][]int32, generation int32) []byte {
	defer w.room.watch()()
	return w.Balancer.JoinGroupMetadata(topics, current, generation)
}

func (w *roomWorker) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	defer w.room.watch()()
	assigned, err := w.Balancer.ParseSyncAssignment(assignment)
	if w.diesReleasing && len(w.Owned().Releasing) > 0 {
		w.cutOff()
		close(w.died)
	}
	return assigned, err
}

// watch locks the room and returns what looks for double owners and unlocks it.
func (r *room) watch() func() {
	r.mu.Lock()
	return func() {
		owner := map[Task]string{}
		for _, w := range r.workers {
			for _, g := range w.Owned().Tasks {
				if other, taken := owner[g.Task]; taken {
					r.doubles = append(r.doubles, fmt.Sprintf("%v: %s and %s", g.Task, other, w.name))
				}
				owner[g.Task] = w.name
			}
		}
		r.mu.Unlock()
	}
}

// start adds a static member.
func (r *room) start(name string, opts ...kgo.Opt) *roomWorker {
	b, err := New(Config{Topology: r.topology, Instance: name})
	require.NoError(r.t, err)
	w := &roomWorker{
		Balancer: b, room: r, name: name, done: make(chan struct{}), died: make(chan struct{}), assigned: map[string]map[int32]bool{},
	}
	count := func(has bool, partitions map[string][]int32) {
		defer r.watch()()
		for topic, ps := range partitions {
			for _, p := range ps {
				if w.assigned[topic] == nil {
					w.assigned[topic] = map[int32]bool{}
				}
				w.assigned[topic][p] = has
			}
		}
	}
	w.cl = kafkatest.NewClient(r.t, r.addrs, append([]kgo.Opt{
		kgo.ConsumerGroup(r.group), kgo.InstanceID(name), kgo.Balancers(w), kgo.ConsumeTopics(b.layout.topics...),
		kgo.BlockRebalanceOnPoll(), kgo.DisableAutoCommit(), kgo.FetchMaxWait(50 * time.Millisecond), kgo.Dialer(w.dial),
		kgo.SessionTimeout(30 * time.Second), kgo.HeartbeatInterval(100 * time.Millisecond),
		kgo.OnPartitionsAssigned(func(ctx context.Context, cl *kgo.Client, m map[string][]int32) {
			count(true, m)
			b.OnAssigned(ctx, cl, m)
		}),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { count(false, m) }),
		kgo.OnPartitionsLost(func(ctx context.Context, cl *kgo.Client, m map[string][]int32) {
			count(false, m)
			defer r.watch()()
			b.OnLost(ctx, cl, m)
		}),
	}, opts...)...)
	r.mu.Lock()
	r.workers = append(r.workers, w)
	r.mu.Unlock()
	ctx, cancel := context.WithCancel(r.t.Context())
	w.cancel = cancel
	go w.poll(ctx)
	return w
}

func (w *roomWorker) poll(ctx context.Context) {
	defer close(w.done)
	for ctx.Err() == nil {
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		w.cl.PollRecords(short, 100)
		cancel()
		w.cl.AllowRebalance()
	}
}

func (w *roomWorker) dial(ctx context.Context, network, host string) (net.Conn, error) {
	w.connMu.Lock()
	defer w.connMu.Unlock()
	if w.cut {
		return nil, errors.New("cut off")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, host)
	if err == nil {
		w.conns = append(w.conns, conn)
	}
	return conn, err
}

// stop ends the worker's part in the room.
func (w *roomWorker) stop() {
	w.cancel()
	<-w.done
	w.room.mu.Lock()
	defer w.room.mu.Unlock()
	w.room.workers = slices.DeleteFunc(w.room.workers, func(x *roomWorker) bool { return x == w })
}

// kill takes the worker's network away, as if its process had died.
func (w *roomWorker) kill() {
	w.stop()
	w.cutOff()
}

func (w *roomWorker) cutOff() {
	w.connMu.Lock()
	defer w.connMu.Unlock()
	w.cut = true
	for _, conn := range w.conns {
		conn.Close()
	}
}

// leave is a clean stop: a static member's client says nothing when it leaves, so the worker does.
func (w *roomWorker) leave() {
	w.stop()
	w.cl.LeaveGroup()
	member, _ := w.cl.GroupMetadata()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = w.room.group
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID, m.InstanceID = member, &w.name
	req.Members = append(req.Members, m)
	resp, err := req.RequestWith(context.Background(), w.cl)
	require.NoError(w.room.t, err)
	require.Zero(w.room.t, resp.ErrorCode)
	for _, m := range resp.Members {
		require.Zero(w.room.t, m.ErrorCode)
	}
}

// settle waits until the room runs every task, evenly, and its clients agree with their balancers.
func (r *room) settle() map[string]Ownership {
	r.t.Helper()
	owned := map[string]Ownership{}
	kafkatest.Eventually(r.t, time.Minute, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		runs, members := map[Task]string{}, []Member{}
		for _, w := range r.workers {
			own := w.Owned()
			owned[w.name] = own
			members = append(members, Member{ID: w.name, Instance: w.name})
			for _, g := range own.Tasks {
				runs[g.Task] = w.name
			}
			n := 0
			for topic, partitions := range w.Partitions(grants(own)...) {
				for _, p := range partitions {
					n++
					if !w.assigned[topic][p] {
						return fmt.Errorf("%s's client does not have partition %d of %s", w.name, p, topic)
					}
				}
			}
			for _, ps := range w.assigned {
				for _, has := range ps {
					if has {
						n--
					}
				}
			}
			if n != 0 {
				return fmt.Errorf("%s's client has %d partitions too many", w.name, -n)
			}
		}
		if len(runs) != len(r.tasks) {
			return fmt.Errorf("%d of %d tasks run", len(runs), len(r.tasks))
		}
		return even(runs, members)
	})
	return owned
}

// scenario has members come, leave, die and come back.
func (r *room) scenario() {
	t := r.t
	defer func() { require.Empty(t, r.doubles) }()
	r.start("a")
	alone := r.settle()
	b := r.start("b")
	require.Subset(t, alone["a"].Tasks, r.settle()["a"].Tasks, "a started tasks over that it kept")
	c := r.start("c", kgo.SessionTimeout(6*time.Second))
	three := r.settle()
	require.NoError(t, c.cl.Ping(t.Context()))

	b.leave()
	two := r.settle()
	require.Subset(t, two["a"].Tasks, three["a"].Tasks)
	require.Subset(t, two["c"].Tasks, three["c"].Tasks)

	b = r.start("b")
	three = r.settle()
	b.kill()
	b = r.start("b")
	back := r.settle()
	require.Equal(t, grants(three["b"]), grants(back["b"]), "a restarted static member gets its tasks back")
	require.Equal(t, three["a"].Tasks, back["a"].Tasks)
	require.Equal(t, three["c"].Tasks, back["c"].Tasks)

	c.kill()
	two = r.settle()
	require.Subset(t, two["a"].Tasks, back["a"].Tasks)
	require.Subset(t, two["b"].Tasks, back["b"].Tasks)
	b.kill()
	c = r.start("c")
	c.kill()
	r.start("c")
	r.start("b")
	r.settle()
}

// restarts has a static member die just when it is to give tasks up. Its next process gets the stored assignment, in which those
// tasks are nobody's, without a rebalance; it is up to that process to start one.
func (r *room) restarts() {
	a := r.start("a")
	r.settle()
	r.mu.Lock()
	a.diesReleasing = true
	r.mu.Unlock()
	r.start("b")
	<-a.died
	a.kill()
	r.start("a")
	r.settle()
	require.Empty(r.t, r.doubles)
}

func TestRestartWhileReleasingOnFake(t *testing.T) {
	newRoom(t, kafkatest.Fake(t, kfake.NumBrokers(1)).ListenAddrs()).restarts()
}

func TestRestartWhileReleasingOnKafka(t *testing.T) {
	newRoom(t, kafkatest.Shared(t).Addrs()).restarts()
}

func TestGroupOnFake(t *testing.T) {
	r := newRoom(t, kafkatest.Fake(t, kfake.NumBrokers(1)).ListenAddrs())
	r.scenario()
}

func TestGroupOnKafka(t *testing.T) {
	r := newRoom(t, kafkatest.Shared(t).Addrs())
	r.scenario()
}
