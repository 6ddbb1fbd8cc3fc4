package flow

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// A Task is what the operators of one task share: where they write, what they
// count, and what the task must do for them.
type Task struct {
	Sub       int32 // the sub-topology
	Partition int32
	App       string // begins the names of internal topics

	Out   Output
	Names []string // of nodes, by id
	Now   func() int64
	Sleep func(ms int64) error // between retries; an error ends the task

	Holds map[int]int64     // by node: how far its input is behind the task's watermark, ms
	Drops map[DropKey]int64 // since the last commit

	stateful []Stateful
	lower    func(node int, deadline int64)
	memo     map[int]any
	open     OpenStore
}

// An OpenStore leases a store's partition, restored, with its changelog and how
// far its closings had come.
type OpenStore func(node int, d state.Descriptor) (*state.Partition, state.Changelog, state.Progress, error)

// NewTask returns a task to build operators for.
func NewTask(sub, partition int32, out Output, names []string, open OpenStore) *Task {
	return &Task{
		Sub: sub, Partition: partition, Out: out, Names: names, open: open,
		Drops: map[DropKey]int64{}, memo: map[int]any{}, lower: func(int, int64) {},
	}
}

// Store opens the store of a node.
func (t *Task) Store(node int, d state.Descriptor) (*state.Partition, state.Changelog, state.Progress, error) {
	return t.open(node, d)
}

// Register adds an operator with state. Operators register after those
// downstream of them, since they are built from the sinks up; Stateful returns
// them in the order in which records pass.
func (t *Task) Register(s Stateful) { t.stateful = append([]Stateful{s}, t.stateful...) }

// Stateful returns the operators with state, upstream first.
func (t *Task) Stateful() []Stateful { return t.stateful }

// OnLower sets what is called when an operator has something to close at a
// watermark, in terms of its own input, earlier than it said before.
func (t *Task) OnLower(f func(node int, deadline int64)) { t.lower = f }

// Lower tells that the operator of a node has something to close at deadline.
func (t *Task) Lower(node int, deadline int64) { t.lower(node, deadline) }

// Memo returns what build makes for a node, and makes it once per task: a node
// with several parents is one operator.
func Memo[T any](t *Task, node int, build func() (T, error)) (T, error) {
	if m, ok := t.memo[node]; ok {
		return m.(T), nil
	}
	m, err := build()
	if err == nil {
		t.memo[node] = m
	}
	return m, err
}

// A Stateful is an operator that owns a store. Its methods are called by the
// task's worker.
type Stateful interface {
	// Node is the operator's node id.
	Node() int
	// Deadline is the watermark at which Fire has something to do; MaxInt64 for
	// never.
	Deadline() int64
	// Fire emits what is due at the watermark, at most about limit results, and
	// says whether more is due.
	Fire(c *Context, watermark int64, limit int) (more bool, err error)
	// Flush emits updates and appends dirty rows to the changelog.
	Flush(c *Context, commit, watermark int64) error
	// Committed tells that a commit is final.
	Committed(commit int64, pos state.Position)
	// WriteBehind writes rows that have waited since commit due to Pebble.
	WriteBehind(due int64, limit int) (int, error)
	// Progress is how far closing has come.
	Progress() state.Progress
	// Resume is the least watermark that a closing which was interrupted goes on
	// at; MinInt64 if none was. Until it has ended no record may come in.
	Resume() int64
	// NeededFrom is the changelog offset before which nothing is needed; false
	// if only compaction shortens this changelog.
	NeededFrom(watermark int64) (int64, bool)
	// Bytes is about the memory that the cache takes.
	Bytes() int64
	// Dirty is the number of rows changed since the last barrier.
	Dirty() int
	// Unwritten is the number of committed changes that Pebble does not hold yet.
	Unwritten() int
	// Evict frees up to n bytes of cache.
	Evict(n int64) int64
	// Each calls f with every row as the open transaction sees it: key, window if
	// it has one, and value.
	Each(f func(key any, w window.Span, value any) bool) error
}

// An Output takes the records that a task writes. It copies keys and values;
// headers it keeps.
type Output interface {
	// Topic returns what is known of a topic, or an error if it does not exist.
	Topic(name string) (*Topic, error)
	// Send writes a record in the open transaction.
	Send(t *Topic, partition int32, key, value []byte, ms int64, headers []kgo.RecordHeader)
	// SendCarried is Send to a repartition topic: the watermark that the record
	// carries, and its exact event time, go along in a header.
	SendCarried(t *Topic, partition int32, key, value []byte, ms, carried int64, headers []kgo.RecordHeader)
}

// A Topic is a topic as the brokers have it.
type Topic struct {
	Name       string
	Partitions int32
	MaxBytes   int32 // of a batch, and so of a record
}

// A Source reads the records of one topic into a task.
type Source interface {
	// Read decodes a record and hands it on. It returns the record's event
	// time, and false if the record must not move the watermark.
	Read(c *Context, rec *kgo.Record) (ms int64, moves bool)
}
