package operator

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

// A read is what a source hands on.
type read struct {
	key, value int64
	ms         int64
	carried    int64
	rawKey     string
	nullKey    bool
	deleted    bool
	headers    string
	source     *kgo.Record
}

func collectReads(list *[]read) flow.Push[int64, int64] {
	return func(c *flow.Context, k, v int64) {
		*list = append(*list, read{k, v, c.Time, c.Carried, string(c.RawKey), c.NullKey, c.Deleted, headerText(c.Headers), c.Source})
	}
}

func at(ms int64) time.Time { return time.UnixMilli(ms) }

func TestSource(t *testing.T) {
	r := newRig(t)
	var list []read
	s := &Source[int64, int64]{Node: node, Policy: &flow.Policy{}, Key: even{}, Value: even{}, Next: collectReads(&list)}
	// Of the record before, nothing stays.
	r.ctx.Window, r.ctx.Deleted, r.ctx.NullKey, r.ctx.RawKey, r.ctx.Carried = window.Millis(1, 2), true, true, []byte("x"), 5
	rec := &kgo.Record{Key: []byte{2}, Value: []byte{4}, Timestamp: at(7), Headers: header("a", "1")}
	expect := func(want read, ms int64, moves bool) {
		t.Helper()
		list = nil
		gotMs, gotMoves := s.Read(&r.ctx, rec)
		require.Equal(t, ms, gotMs)
		require.Equal(t, moves, gotMoves)
		want.source, want.carried = rec, 5
		require.Equal(t, []read{want}, list)
		require.Zero(t, r.ctx.Window)
		require.Empty(t, r.failure())
	}
	expect(read{key: 2, value: 4, ms: 7, headers: "a:1"}, 7, true)
	s.Raw = true
	expect(read{key: 2, value: 4, ms: 7, headers: "a:1", rawKey: "\x02"}, 7, true)
	rec.Headers = nil
	rec.Key = nil
	expect(read{value: 4, ms: 7, nullKey: true}, 7, true)
	s.Time = func(v int64) time.Time { return at(v * 10) }
	expect(read{value: 4, ms: 40, nullKey: true}, 40, true)
	rec.Value = nil // a tombstone has the record's time
	expect(read{ms: 7, nullKey: true, deleted: true}, 7, true)
}

// Times as far as this are no times.
func TestSourceOfTheEndsOfTime(t *testing.T) {
	for _, ms := range []int64{math.MaxInt64, math.MaxInt64 - 1, math.MinInt64 + 1, math.MinInt64} {
		r := newRig(t)
		var list []read
		s := &Source[int64, int64]{
			Node: node, Policy: &flow.Policy{Action: flow.DeadLetter, Topic: "dlq"}, Key: even{}, Value: even{}, Next: collectReads(&list),
			Time: func(int64) time.Time { return at(ms) },
		}
		_, moves := s.Read(&r.ctx, &kgo.Record{Value: []byte{0}, Timestamp: at(7)})
		isEnd := ms == math.MaxInt64 || ms == math.MinInt64
		require.Equal(t, !isEnd, moves, ms)
		if isEnd {
			require.Empty(t, list)
			require.EqualValues(t, 1, r.drops(flow.Future))
			require.Contains(t, headerText(r.sent[0].headers), flow.HeaderAttempts+":1 ")
		} else {
			require.Len(t, list, 1)
		}
	}
}

func TestSourceRefuses(t *testing.T) {
	times := map[int64]time.Time{0: at(100), 2: {}, 6: at(111), 8: at(110), 10: at(109)}
	for _, c := range []struct {
		key, value []byte
		why        flow.Reason
		text       string // in the dead letter; none if the record passes
		ms         int64
	}{
		{[]byte{1}, []byte{0}, flow.Undecodable, "cannot decode the key: odd", 7},
		{[]byte{0}, []byte{1}, flow.Undecodable, "cannot decode the value: odd", 7},
		{[]byte{0}, []byte{2}, flow.NoTime, "its value gives no event time", 7},
		{[]byte{0}, []byte{4}, flow.Failed, "panic: four", 7},
		{[]byte{0}, []byte{6}, flow.Future, "its event time 1970-01-01T00:00:00.111Z is further ahead of the clock than MaxAhead, 10ms", 111},
		{[]byte{0}, []byte{8}, 0, "", 110},
		{nil, []byte{10}, 0, "", 109},
	} {
		r := newRig(t)
		r.now = 100
		var list []read
		s := &Source[int64, int64]{
			Node: node, Policy: &flow.Policy{Action: flow.DeadLetter, Topic: "dlq"}, Key: even{}, Value: even{}, Next: collectReads(&list),
			Strategy: watermark.Bounded(0).MaxAhead(10 * time.Millisecond),
			Time: func(v int64) time.Time {
				if v == 4 {
					panic("four")
				}
				return times[v]
			},
		}
		ms, moves := s.Read(&r.ctx, &kgo.Record{Topic: "in", Key: c.key, Value: c.value, Timestamp: at(7)})
		require.Equal(t, c.ms, ms, "value %v", c.value)
		require.Equal(t, c.text == "", moves)
		if c.text == "" {
			require.Len(t, list, 1)
			require.Equal(t, c.ms, list[0].ms)
			continue
		}
		require.Empty(t, list)
		require.EqualValues(t, 1, r.drops(c.why))
		require.Len(t, r.sent, 1)
		require.Equal(t, c.ms, r.sent[0].ms)
		require.Contains(t, headerText(r.sent[0].headers), flow.HeaderError+":"+c.text)
		require.Contains(t, headerText(r.sent[0].headers), flow.HeaderAttempts+":1 ")
	}
}

// Without MaxAhead, records may be any time ahead; and with one, behind.
func TestSourceWithoutMaxAhead(t *testing.T) {
	r := newRig(t)
	var list []read
	s := &Source[int64, int64]{Node: node, Policy: &flow.Policy{}, Key: serde.Int64, Value: serde.Int64, Next: collectReads(&list)}
	s.Read(&r.ctx, &kgo.Record{Timestamp: at(1)})
	s.Strategy = watermark.Bounded(0).MaxAhead(time.Millisecond)
	s.Read(&r.ctx, &kgo.Record{Timestamp: at(-5)})
	s.Read(&r.ctx, &kgo.Record{Timestamp: at(1)})
	require.Len(t, list, 3)
	require.Empty(t, r.failure())
	s.Read(&r.ctx, &kgo.Record{Timestamp: at(2)})
	require.Contains(t, r.failure(), "further ahead")
}

func TestRepartitionSource(t *testing.T) {
	r := newRig(t)
	var list []read
	s := &RepartitionSource[int64, int64]{Node: node, Key: even{}, Value: even{}, Next: collectReads(&list)}
	carried := func(ms, mark int64) []kgo.RecordHeader {
		return append([]kgo.RecordHeader{{Key: CarriedHeader, Value: watermark.AppendCarried(nil, ms, mark)}}, header("a", "1")...)
	}
	rec := &kgo.Record{Key: []byte{2}, Value: []byte{4}, Timestamp: at(7), Headers: carried(7, 3)}
	ms, moves := s.Read(&r.ctx, rec)
	require.EqualValues(t, 7, ms)
	require.True(t, moves)
	require.Equal(t, []read{{key: 2, value: 4, ms: 7, carried: 3, headers: "a:1", source: rec}}, list)

	// Kafka has no time -1.
	list, s.Raw = nil, true
	rec = &kgo.Record{Key: []byte{2}, Timestamp: at(0), Headers: carried(-1, -5)}
	ms, moves = s.Read(&r.ctx, rec)
	require.EqualValues(t, -1, ms)
	require.True(t, moves)
	require.Equal(t, []read{{key: 2, deleted: true, ms: -1, carried: -5, headers: "a:1", source: rec, rawKey: "\x02"}}, list)

	list = nil
	for _, c := range []struct {
		text string
		rec  *kgo.Record
	}{
		{"the record was not written by this application", &kgo.Record{Value: []byte{0}}},
		{"the record was not written by this application", &kgo.Record{Value: []byte{0}, Headers: header("a", "1")}},
		{"header of the carried watermark is empty", &kgo.Record{Value: []byte{0}, Headers: header(CarriedHeader, "")}},
		{"cannot decode the value: odd", &kgo.Record{Value: []byte{1}, Timestamp: at(7), Headers: carried(7, 3)}},
	} {
		ms, moves := s.Read(&r.ctx, c.rec)
		require.Zero(t, ms)
		require.False(t, moves, c.text)
		require.Contains(t, r.failure(), c.text)
	}
	require.Empty(t, list)
}
