package operator

import (
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// The nodes of a rig.
const (
	upstream int32 = iota
	node
)

// A rig is a task for one operator, on partition 5, whose output, drops and
// deadlines are noted.
type rig struct {
	t       *testing.T
	task    *flow.Task
	ctx     flow.Context
	sent    []sent
	lowered []int64 // deadlines that the operator told of
	log     []string
	part    *state.Partition // of the store that was opened last
	now     int64
}

// A sent is a record written to a topic.
type sent struct {
	topic      string
	partition  int32
	key, value []byte
	ms         int64
	carried    int64 // if it was sent with it
	headers    []kgo.RecordHeader
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t}
	open := func(_ int, d state.Descriptor) (*state.Partition, state.Changelog, state.Progress, error) {
		db, err := state.Open(state.Options{Dir: "state", FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		part, err := db.Lease(d, 5)
		require.NoError(t, err)
		r.part = part
		t.Cleanup(func() {
			part.Release()
			require.NoError(t, db.Close())
		})
		return part, r, state.Progress{Closed: math.MinInt64}, nil
	}
	r.task = flow.NewTask(0, 5, r, []string{"upstream", "operator"}, open)
	r.task.Now = func() int64 { return r.now }
	r.task.Sleep = func(int64) error { return nil }
	r.task.OnLower(func(n int, deadline int64) {
		require.EqualValues(t, node, n)
		r.lowered = append(r.lowered, deadline)
	})
	r.ctx = flow.Context{Task: r.task, Carried: math.MinInt64, Fired: math.MinInt64}
	return r
}

func (r *rig) Topic(name string) (*flow.Topic, error) {
	if name == "dlq" {
		return &flow.Topic{Name: name, Partitions: 4}, nil
	}
	return nil, errors.New("no such topic")
}

func (r *rig) Send(t *flow.Topic, partition int32, key, value []byte, ms int64, hs []kgo.RecordHeader) {
	r.sent = append(r.sent, sent{t.Name, partition, clone(key), clone(value), ms, 0, hs})
}

func (r *rig) SendCarried(t *flow.Topic, partition int32, key, value []byte, ms, carried int64, hs []kgo.RecordHeader) {
	r.sent = append(r.sent, sent{t.Name, partition, clone(key), clone(value), ms, carried, hs})
}

// Append makes a rig the changelog of its stores.
func (r *rig) Append(key string, value []byte, _ int64) {
	if value == nil {
		key += " deleted"
	}
	r.log = append(r.log, key)
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// drops returns how often records were dropped for a reason, and forgets it.
func (r *rig) drops(why flow.Reason) int64 {
	k := flow.DropKey{Node: node, Reason: why}
	n := r.task.Drops[k]
	delete(r.task.Drops, k)
	require.Empty(r.t, r.task.Drops)
	return n
}

// failure returns why the task ended, and forgets it.
func (r *rig) failure() string {
	err := r.ctx.Err
	r.ctx.Err = nil
	if err == nil {
		return ""
	}
	return err.Error()
}

// A got is a record as a function downstream sees it.
type got[V any] struct {
	key     string
	value   V
	time    int64
	carried int64
	window  window.Span
	deleted bool
	headers string
}

// collect returns an operator that notes what it is given.
func collect[V any](list *[]got[V]) flow.Push[string, V] {
	return func(c *flow.Context, k string, v V) {
		*list = append(*list, got[V]{k, v, c.Time, c.Carried, c.Window, c.Deleted, headerText(c.Headers)})
	}
}

func headerText(hs []kgo.RecordHeader) string {
	var list []string
	for _, h := range hs {
		list = append(list, h.Key+":"+string(h.Value))
	}
	return strings.Join(list, " ")
}

func header(key, value string) []kgo.RecordHeader {
	return []kgo.RecordHeader{{Key: key, Value: []byte(value)}}
}

// even is a serde of even numbers, which are one byte each.
type even struct{}

func (even) Append(dst []byte, n int64) ([]byte, error) {
	if n%2 != 0 {
		return dst, errors.New("odd")
	}
	return append(dst, byte(n)), nil
}

func (even) Decode(b []byte) (int64, error) {
	if len(b) != 1 || b[0]%2 != 0 {
		return 0, errors.New("odd")
	}
	return int64(b[0]), nil
}

// sums is the specification of an operator that adds numbers up, and cannot add
// 13.
func sums(kind string) Spec[string, int64, int64] {
	return Spec[string, int64, int64]{
		Node: node, Policy: &flow.Policy{Action: flow.Skip}, Descriptor: state.Descriptor{Name: "sums", Kind: kind},
		Key: serde.String, Value: serde.Int64,
		Fold: Fold[int64, int64]{
			Add: func(a, v int64, _ bool) int64 {
				if v == 13 {
					panic("thirteen")
				}
				return a + v
			},
			Merge: func(a, b int64) int64 { return a + b },
		},
	}
}
