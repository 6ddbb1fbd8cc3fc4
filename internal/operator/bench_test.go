package operator

import (
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// nowhere is an output that copies what it is given, and forgets it.
type nowhere struct {
	buf  []byte
	sent int
}

func (n *nowhere) Topic(name string) (*flow.Topic, error) {
	return &flow.Topic{Name: name, Partitions: 4, MaxBytes: 1 << 20}, nil
}

func (n *nowhere) Send(_ *flow.Topic, _ int32, key, value []byte, _ int64, _ []kgo.RecordHeader) {
	n.buf = append(append(n.buf[:0], key...), value...)
	n.sent++
}

func (n *nowhere) SendCarried(t *flow.Topic, p int32, key, value []byte, ms, _ int64, hs []kgo.RecordHeader) {
	n.Send(t, p, key, value, ms, hs)
}

// Append makes it a changelog too.
func (n *nowhere) Append(key string, value []byte, _ int64) {
	n.buf = append(append(n.buf[:0], key...), value...)
}

// chain is a task to measure operators in.
type chain struct {
	out  nowhere
	task *flow.Task
	ctx  flow.Context
}

func newChain(b *testing.B) *chain {
	c := &chain{}
	db, err := state.Open(state.Options{Dir: "state", FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	var leases []*state.Partition
	b.Cleanup(func() {
		for _, p := range leases {
			p.Release()
		}
		require.NoError(b, db.Close())
	})
	open := func(_ int, d state.Descriptor) (*state.Partition, state.Changelog, state.Progress, error) {
		part, err := db.Lease(d, 0)
		leases = append(leases, part)
		return part, &c.out, state.Progress{Closed: math.MinInt64}, err
	}
	c.task = flow.NewTask(0, 0, &c.out, make([]string, 8), open)
	c.task.Now = func() int64 { return 0 }
	c.ctx = flow.Context{Task: c.task, Carried: math.MinInt64, Fired: math.MinInt64}
	return c
}

// benchRecords are records of a number of keys in random order.
func benchRecords(n, keys int) []*kgo.Record {
	value := make([]byte, 100)
	recs, x := make([]*kgo.Record, n), uint64(1)
	for i := range recs {
		x = x*6364136223846793005 + 1442695040888963407
		recs[i] = &kgo.Record{Key: fmt.Appendf(nil, "key-%08d", x>>33%uint64(keys)), Value: value}
	}
	return recs
}

// BenchmarkMap is a record from its bytes through a function to its bytes.
func BenchmarkMap(b *testing.B) {
	c := newChain(b)
	topic, _ := c.out.Topic("out")
	sink := &Sink[[]byte, []byte]{Policy: &flow.Policy{}, Key: serde.Bytes, Value: serde.Bytes, Topic: topic}
	source := &Source[[]byte, []byte]{
		Policy: &flow.Policy{}, Key: serde.Bytes, Value: serde.Bytes, Raw: true,
		Next: MapValue(1, &flow.Policy{}, func(v []byte) []byte { v[0]++; return v }, sink.Push),
	}
	recs := benchRecords(1<<12, 10_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		source.Read(&c.ctx, recs[i%len(recs)])
	}
	require.NoError(b, c.ctx.Err)
}

// BenchmarkSink is a windowed count to its bytes.
func BenchmarkSink(b *testing.B) {
	c := newChain(b)
	topic, _ := c.out.Topic("out")
	sink := &Sink[window.Key[[]byte], int64]{
		Policy: &flow.Policy{}, Key: serde.TimeWindowed(serde.Bytes, 10*time.Second), Value: serde.Int64, Topic: topic,
	}
	key := window.Key[[]byte]{Key: []byte("key-00000001"), Span: window.Millis(10_000, 20_000)}
	b.ReportAllocs()
	for n := int64(0); b.Loop(); n++ {
		sink.Push(&c.ctx, key, n)
	}
	require.NoError(b, c.ctx.Err)
}

// BenchmarkCount counts per key, and flushes as a commit every 100 ms would at
// 500 thousand records per second.
func BenchmarkCount(b *testing.B) {
	for _, keys := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			c := newChain(b)
			push, err := Aggregate(c.task, Spec[[]byte, []byte, int64]{
				Policy: &flow.Policy{}, Descriptor: state.Descriptor{Name: "counts"}, Key: serde.Bytes, Value: serde.Int64,
				Fold:    Fold[[]byte, int64]{Add: func(n int64, _ []byte, _ bool) int64 { return n + 1 }},
				Updates: func(*flow.Context, []byte, int64) {},
			})
			require.NoError(b, err)
			benchCounts(b, c, push, keys)
		})
	}
}

// BenchmarkWindowedCount counts per key in windows of 10 s, 100 thousand records
// each, with what flushes and closings cost.
func BenchmarkWindowedCount(b *testing.B) {
	for _, keys := range []int{1_000, 250_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			c := newChain(b)
			push, err := Windowed(c.task, Spec[[]byte, []byte, int64]{
				Policy: &flow.Policy{}, Descriptor: state.Descriptor{Name: "counts"}, Key: serde.Bytes, Value: serde.Int64,
				Fold:    Fold[[]byte, int64]{Add: func(n int64, _ []byte, _ bool) int64 { return n + 1 }},
				Updates: func(*flow.Context, []byte, int64) {},
			}, window.Tumbling(10*time.Second).Grace(5*time.Second))
			require.NoError(b, err)
			benchCounts(b, c, push, keys)
		})
	}
}

const benchFlush = 50_000 // records

// benchCounts pushes records into an aggregation, flushes and commits now and
// then, and closes what is due. Event time goes on by 1 ms every ten records.
func benchCounts(b *testing.B, c *chain, push flow.Push[[]byte, []byte], keys int) {
	recs := benchRecords(1<<18, keys)
	source := &Source[[]byte, []byte]{Policy: &flow.Policy{}, Key: serde.Bytes, Value: serde.Bytes, Raw: true, Next: push}
	op := c.task.Stateful()[0]
	b.ReportAllocs()
	commit, r := int64(0), new(kgo.Record)
	for i := 0; b.Loop(); i++ {
		*r = *recs[i%len(recs)]
		watermark := int64(i / 10)
		r.Timestamp = time.UnixMilli(watermark)
		c.ctx.Carried = watermark
		source.Read(&c.ctx, r)
		if op.Deadline() <= watermark {
			_, err := op.Fire(&c.ctx, watermark, math.MaxInt)
			require.NoError(b, err)
		}
		if i%benchFlush == benchFlush-1 {
			commit++
			require.NoError(b, op.Flush(&c.ctx, commit, watermark))
			op.Committed(commit, state.Position{Offset: commit})
		}
	}
	require.NoError(b, c.ctx.Err)
}
