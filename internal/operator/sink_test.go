package operator

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/serde"
)

func TestSink(t *testing.T) {
	r := newRig(t)
	s := &Sink[string, string]{
		Node: node, Policy: &flow.Policy{}, Key: serde.String, Value: serde.String, Topic: &flow.Topic{Name: "out", Partitions: 4},
	}
	r.ctx.Time, r.ctx.Carried, r.ctx.Headers = 7, 3, header("a", "1")
	r.task.Partition = 5
	s.Push(&r.ctx, "foobar", "value")
	s.Push(&r.ctx, "", "")
	s.Push(&r.ctx, strings.Repeat("k", 1000), strings.Repeat("v", 10_000))
	r.ctx.NullKey = true
	s.Push(&r.ctx, "", "value")
	r.ctx.Deleted = true
	s.Push(&r.ctx, "", "")
	r.ctx.NullKey = false
	s.Push(&r.ctx, "foobar", "")
	s.Partitioner, s.Internal = flow.CRC32, true
	s.Push(&r.ctx, "123456789", "")
	require.Equal(t, []sent{
		{"out", 2, []byte("foobar"), []byte("value"), 7, 0, header("a", "1")},
		{"out", flow.Murmur2.Place(nil, 4), []byte{}, []byte{}, 7, 0, header("a", "1")},
		{"out", flow.Murmur2.Place([]byte(strings.Repeat("k", 1000)), 4), []byte(strings.Repeat("k", 1000)), []byte(strings.Repeat("v", 10_000)),
			7, 0, header("a", "1")},
		{"out", 1, nil, []byte("value"), 7, 0, header("a", "1")},
		{"out", 1, nil, nil, 7, 0, header("a", "1")},
		{"out", 2, []byte("foobar"), nil, 7, 0, header("a", "1")},
		{"out", int32(uint32(0xcbf43926) % 4), []byte("123456789"), nil, 7, 3, header("a", "1")},
	}, r.sent)
}

// nothing is a serde of one value that takes no bytes.
type nothing struct{}

func (nothing) Append(dst []byte, _ int64) ([]byte, error) { return dst, nil }
func (nothing) Decode([]byte) (int64, error)               { return 0, nil }

// A value of no bytes is no tombstone.
func TestSinkOfEmptyValues(t *testing.T) {
	r := newRig(t)
	s := &Sink[int64, int64]{Policy: &flow.Policy{}, Key: nothing{}, Value: nothing{}, Topic: &flow.Topic{Partitions: 1}}
	s.Push(&r.ctx, 0, 0)
	require.Equal(t, []byte{}, r.sent[0].value)
	require.NotNil(t, r.sent[0].value)
}

func TestSinkRefuses(t *testing.T) {
	r := newRig(t)
	s := &Sink[int64, int64]{
		Node: node, Policy: &flow.Policy{Action: flow.DeadLetter, Topic: "dlq"}, Key: even{}, Value: even{},
		Topic: &flow.Topic{Name: "out", Partitions: 4, MaxBytes: recordOverhead + 2},
	}
	r.ctx.Source = &kgo.Record{Topic: "in", Partition: 6, Key: []byte("k"), Value: []byte("v")}
	s.Push(&r.ctx, 2, 4)
	require.Len(t, r.sent, 1)
	require.Equal(t, "out", r.sent[0].topic)

	for _, c := range []struct {
		key, value int64
		headers    []kgo.RecordHeader
		why        flow.Reason
		text       string
	}{
		{1, 2, nil, flow.Failed, "cannot encode the key for topic out: odd"},
		{2, 1, nil, flow.Failed, "cannot encode the value for topic out: odd"},
		{2, 2, header("abc", "de"), flow.TooLarge, "the record has 143 bytes and topic out takes at most 130 (max.message.bytes)"},
	} {
		r.sent, r.ctx.Headers = nil, c.headers
		s.Push(&r.ctx, c.key, c.value)
		require.EqualValues(t, 1, r.drops(c.why))
		require.Len(t, r.sent, 1)
		require.Equal(t, "dlq", r.sent[0].topic)
		require.EqualValues(t, 2, r.sent[0].partition)
		headers := headerText(r.sent[0].headers)
		require.Contains(t, headers, flow.HeaderError+":"+c.text)
		require.Contains(t, headers, flow.HeaderAttempts+":1")
	}

	s.Topic.MaxBytes = recordOverhead + 1
	r.sent, r.ctx.Headers = nil, nil
	s.Push(&r.ctx, 2, 4)
	require.EqualValues(t, 1, r.drops(flow.TooLarge), "a byte more than the topic takes")
	s.Topic.MaxBytes = 1 // so that what is small has reached the limit, too
	s.Push(&r.ctx, 2, 4)
	require.EqualValues(t, 1, r.drops(flow.TooLarge))
	s.Topic.MaxBytes = 0 // not known
	r.sent = nil
	s.Push(&r.ctx, 2, 4)
	require.Equal(t, "out", r.sent[0].topic)
	r.ctx.NullKey = true // of which there is nothing to encode
	s.Push(&r.ctx, 1, 4)
	require.Equal(t, "out", r.sent[1].topic)
	require.Nil(t, r.sent[1].key)
}
