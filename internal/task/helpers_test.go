package task_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/seam"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

var (
	left  = stream.NewTopic("left", serde.String, serde.String)
	right = stream.NewTopic("right", serde.String, serde.String)
	out   = stream.NewTopic("out", serde.String, serde.String)
)

// A fixture is one worker's surroundings: what tasks write is kept, in order.
type fixture struct {
	t          *testing.T
	plan       *graph.Plan
	partitions int32
	now        int64
	db         *state.DB
	sent       []*kgo.Record
}

func newFixture(t *testing.T, top *stream.Topology, partitions int32) *fixture {
	t.Helper()
	plan, err := seam.PlanOf(top, "")
	require.NoError(t, err)
	db, err := state.Open(state.Options{Dir: "state", FS: vfs.NewMem(), MemoryLimit: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &fixture{t: t, plan: plan, partitions: partitions, now: 1_000_000, db: db}
}

// open opens a task, from the beginning of its inputs unless told.
func (f *fixture) open(sub, partition int32, committed ...checkpoint.Offset) *task.Task {
	f.t.Helper()
	id := task.ID{Sub: sub, Partition: partition}
	partitions := func(string) int32 { return f.partitions }
	if committed == nil {
		for _, in := range task.Inputs(f.plan, id, partitions) {
			committed = append(committed, checkpoint.Offset{Topic: in.Topic, Partition: in.Partition, Meta: checkpoint.NoMeta})
		}
	}
	tk, err := task.New(task.Config{
		ID: id, Plan: f.plan, Out: f, Now: func() int64 { return f.now }, Sleep: func(int64) error { return nil },
		Upstream: partitions, Partitions: partitions, Committed: committed,
		Lease: func(n *graph.Node) (*state.Partition, error) { return f.db.Lease(*n.Store, partition) },
	})
	f.t.Cleanup(tk.Close)
	require.NoError(f.t, err)
	tk.Begin(1)
	return tk
}

func (f *fixture) Topic(name string) (*flow.Topic, error) {
	if name == "missing" {
		return nil, fmt.Errorf("no topic %s", name)
	}
	return &flow.Topic{Name: name, Partitions: f.partitions}, nil
}

func (f *fixture) Send(t *flow.Topic, partition int32, key, value []byte, ms int64, headers []kgo.RecordHeader) {
	f.sent = append(f.sent, &kgo.Record{
		Topic: t.Name, Partition: partition, Key: append([]byte(nil), key...), Value: append([]byte(nil), value...),
		Timestamp: time.UnixMilli(ms), Headers: headers,
	})
}

func (f *fixture) SendCarried(t *flow.Topic, partition int32, key, value []byte, ms, _ int64, headers []kgo.RecordHeader) {
	f.Send(t, partition, key, value, ms, headers)
}

func (f *fixture) End(*flow.Topic, int32) int64 { return int64(len(f.sent)) }

// values takes the values written to a topic since the last time.
func (f *fixture) values(topic string) (list []string) {
	rest := f.sent[:0]
	for _, r := range f.sent {
		if r.Topic == topic {
			list = append(list, string(r.Value))
		} else {
			rest = append(rest, r)
		}
	}
	f.sent = rest
	return list
}

// rec is a record of a topic, whose value says where it is from.
func rec(topic string, offset, ms int64) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Offset: offset, Key: []byte("k"), Value: fmt.Appendf(nil, "%s-%d", topic, offset), Timestamp: time.UnixMilli(ms),
	}
}

// run steps a task for as long as there is something to do.
func run(t *testing.T, tk *task.Task) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = tk.Step(100)
		require.NoError(t, err)
	}
}

// commit takes a task through what a commit is to it, and returns its offsets.
func commit(t *testing.T, tk *task.Task, number int64) []checkpoint.Offset {
	t.Helper()
	require.NoError(t, tk.Flush(number))
	offsets, err := tk.Offsets()
	require.NoError(t, err)
	tk.Committed(number, 0)
	tk.Begin(number + 1)
	return offsets
}
