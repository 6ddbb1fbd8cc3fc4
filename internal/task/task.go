package task

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/watermark"
)

// An ID says which task: sub-topology and partition number.
type ID struct{ Sub, Partition int32 }

// String is the ID as Kafka Streams writes it: 0_3.
func (id ID) String() string { return fmt.Sprintf("%d_%d", id.Sub, id.Partition) }

// A Config is what a task is made of.
type Config struct {
	ID    ID
	Plan  *graph.Plan
	Out   Output
	Now   func() int64 // ms since the epoch
	Sleep func(ms int64) error
	// Upstream is the number of tasks that write a repartition topic.
	Upstream func(topic string) int32
	// Lease opens the partition of a store, restored.
	Lease func(n *graph.Node) (*state.Partition, error)
	// Partitions is the number of partitions of a topic.
	Partitions func(topic string) int32
	// Committed is what the last commit says of each input, in the order of
	// Inputs.
	Committed []checkpoint.Offset
	// CloseStep replaces the constant of that name, unless it is 0.
	CloseStep int
}

// An Output is a flow.Output that knows where its changelog records ended up.
type Output interface {
	flow.Output
	// End returns the offset after the last record that was written to a
	// partition and acknowledged, or -1.
	End(t *flow.Topic, partition int32) int64
}

// A Task is one sub-topology on one partition number. It is used by one
// goroutine at a time.
type Task struct {
	ID  ID
	cfg Config
	sub *graph.Sub

	// What the user's topology is made of.
	flow   *flow.Task
	inputs []*Input
	ops    []*op

	// What a commit records.
	merge *watermark.Merge
	fired int64 // everything due at this watermark has been closed

	ctx       flow.Context
	interval  int64 // number of the commit under way
	deadline  int64 // the watermark at which something is due
	firing    bool  // a closing was interrupted
	committed mark  // at the last commit
	told      bool  // a control record was written in this interval
	leases    []*state.Partition
	idleSince int64 // on the engine's clock: since when all inputs are idle; None if they are not
	idleAt    int64 // the watermark then
}

// An op is an operator with a store, and where it stands in the task.
type op struct {
	flow.Stateful
	node  *graph.Node
	hold  int64
	first []*op // whose updates must have been sent on before this one closes anything
	log   *changelog
}

// Inputs lists the topic partitions that a task reads, in order.
func Inputs(p *graph.Plan, id ID, partitions func(topic string) int32) []*Input {
	var list []*Input
	for _, n := range p.Subs[id.Sub].Sources {
		if topic := p.TopicOf(n); id.Partition < partitions(topic) {
			list = append(list, newInput(n, topic, id.Partition))
		}
	}
	return list
}

// New opens the task's stores and makes its operators. Close must be called
// even when it fails.
func New(cfg Config) (*Task, error) {
	t := &Task{ID: cfg.ID, cfg: cfg, sub: cfg.Plan.Subs[cfg.ID.Sub], idleSince: watermark.None}
	t.inputs = Inputs(cfg.Plan, cfg.ID, cfg.Partitions)
	t.flow = flow.NewTask(cfg.ID.Sub, cfg.ID.Partition, cfg.Out, cfg.Plan.Names, t.openStore)
	t.flow.App, t.flow.Now, t.flow.Sleep, t.flow.Holds = cfg.Plan.App, cfg.Now, cfg.Sleep, t.sub.Holds
	t.ctx.Task = t.flow
	if err := t.resume(); err != nil {
		return t, err
	}
	if err := t.openSources(); err != nil {
		return t, err
	}
	t.linkOps()
	t.flow.OnLower(func(node int, d int64) { t.deadline = min(t.deadline, ahead(d, t.sub.Holds[node])) })
	t.findDeadline()
	t.committed = t.mark()
	return t, nil
}

// resume takes up offsets and watermarks where the last commit left them.
func (t *Task) resume() error {
	at, fired := watermark.None, watermark.None
	for i, in := range t.inputs {
		o := t.cfg.Committed[i]
		in.next, in.fetched, in.end = o.Offset, o.Offset, o.Offset
		at, fired = max(at, o.Meta.Task), max(fired, o.Meta.Fired)
		t.firing = t.firing || len(o.Meta.Stores) > 0 // it goes on before a record comes in
	}
	t.merge = watermark.NewMerge(len(t.inputs), at)
	t.fired = fired
	t.ctx.Fired = fired
	for i, in := range t.inputs {
		in.idle = watermark.NewIdleness(in.strategy, t.cfg.Now())
		if !in.Internal {
			in.own = watermark.NewPartition(in.strategy, t.cfg.Committed[i].Meta.Partition)
		} else {
			in.up = watermark.NewUpstreams(int(t.cfg.Upstream(in.Topic)), at)
		}
		t.merge.Set(i, in.Watermark())
	}
	return nil
}

func (t *Task) openSources() error {
	i := 0
	for _, n := range t.sub.Sources {
		if t.ID.Partition >= t.cfg.Partitions(t.cfg.Plan.TopicOf(n)) {
			continue
		}
		source, err := n.Reader.Open(t.flow)
		if err != nil {
			return fmt.Errorf("task %v: %w", t.ID, err)
		}
		t.inputs[i].source = source
		i++
	}
	return nil
}

// openStore is what operators open their stores with.
func (t *Task) openStore(node int, _ state.Descriptor) (*state.Partition, state.Changelog, state.Progress, error) {
	n := t.cfg.Plan.Nodes[node]
	part, err := t.cfg.Lease(n)
	if err != nil {
		return nil, nil, state.Progress{}, err
	}
	t.leases = append(t.leases, part)
	topic, err := t.cfg.Out.Topic(t.cfg.Plan.ChangelogTopic(n))
	if err != nil {
		return nil, nil, state.Progress{}, err
	}
	log := &changelog{topic: topic, partition: t.ID.Partition, out: t.cfg.Out}
	t.ops = append(t.ops, &op{node: n, hold: t.sub.Holds[node], log: log})
	return part, log, t.progressOf(n), nil
}

// progressOf is how far a store's closings had come at the last commit.
func (t *Task) progressOf(n *graph.Node) state.Progress {
	for _, o := range t.cfg.Committed {
		for _, s := range o.Meta.Stores {
			if s.Store == n.Name {
				return state.Progress{Closed: s.Closed, After: s.After}
			}
		}
	}
	return state.Progress{Closed: flow.Behind(t.fired, t.sub.Holds[n.ID])}
}

// linkOps puts the operators in the order in which records pass.
func (t *Task) linkOps() {
	byNode := map[int]*op{}
	for _, o := range t.ops {
		byNode[o.node.ID] = o
	}
	t.ops = t.ops[:0]
	for _, s := range t.flow.Stateful() {
		o := byNode[s.Node()]
		o.Stateful = s
		t.ops = append(t.ops, o)
	}
	for _, o := range t.ops {
		for _, up := range t.sub.FlushFirst[o.node.ID] {
			o.first = append(o.first, byNode[up])
		}
	}
}

// Input returns the input of a topic, nil if the task does not read it.
func (t *Task) Input(topic string) *Input {
	for _, in := range t.inputs {
		if in.Topic == topic {
			return in
		}
	}
	return nil
}

// InputList returns the inputs, in order.
func (t *Task) InputList() []*Input { return t.inputs }

// Watermark is the task's watermark.
func (t *Task) Watermark() int64 { return t.merge.Watermark() }

// Close gives up the task's stores. What was not committed is lost, as it
// should be.
func (t *Task) Close() {
	for _, p := range t.leases {
		p.Release()
	}
	t.leases = nil
}

// A changelog appends a store's changes to its topic.
type changelog struct {
	topic     *flow.Topic
	partition int32
	out       Output
}

// Append implements state.Changelog.
func (l *changelog) Append(key string, value []byte, ms int64) {
	l.out.Send(l.topic, l.partition, []byte(key), value, max(ms, 0), []kgo.RecordHeader(nil))
}

// ahead is the task's watermark at which an operator's input has reached w.
func ahead(w, hold int64) int64 {
	if w > math.MaxInt64-hold {
		return math.MaxInt64
	}
	return w + hold
}
