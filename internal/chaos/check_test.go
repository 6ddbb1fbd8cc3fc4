package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// written is an input, what its oracle says, and output topics as a faultless run would write them.
type written struct {
	oracle  *oracle
	outputs map[string][]*kgo.Record
}

func write(t *testing.T, records int64) written {
	t.Helper()
	g := newGenerator(7, records/20) // every user comes more than once
	w := written{oracle: newOracle(), outputs: map[string][]*kgo.Record{}}
	offsets := map[int32]int64{}
	for range records {
		e, ms := g.event()
		value, err := input.Value.Append(nil, e)
		require.NoError(t, err)
		user, err := userNumber(e.User)
		require.NoError(t, err)
		p := home(user)
		require.NoError(t, w.oracle.add(&kgo.Record{Topic: inputName, Partition: p, Offset: offsets[p], Value: value,
			Timestamp: time.UnixMilli(ms)}))
		offsets[p]++
		if w.oracle.late[e.Seq] > 0 {
			w.put(t, lateName, []byte(e.User), value, ms)
		}
	}
	w.tables(t)
	return w
}

func (w written) put(t *testing.T, topic string, key, value []byte, ms int64) {
	t.Helper()
	rs := w.outputs[topic]
	w.outputs[topic] = append(rs, &kgo.Record{Topic: topic, Offset: int64(len(rs)), Key: key, Value: value, Timestamp: time.UnixMilli(ms)})
}

// tables writes updates, every other one only, and finals.
func (w written) tables(t *testing.T) {
	t.Helper()
	for user, states := range w.oracle.totals {
		for i, s := range states {
			if i%2 == (len(states)-1)%2 {
				value, err := totals.Value.Append(nil, s)
				require.NoError(t, err)
				w.put(t, totalsName, []byte(userName(int64(user))), value, 0)
			}
		}
	}
	windowed := func(topic string, user int, start, end, n, ms int64) {
		key, err := windowedUser.Append(nil, window.Key[string]{Key: userName(int64(user)), Span: window.Millis(start, end)})
		require.NoError(t, err)
		value, err := serde.Int64.Append(nil, n)
		require.NoError(t, err)
		w.put(t, topic, key, value, ms)
	}
	for p, n := range w.oracle.views {
		for i := 2 - n%2; i <= n; i += 2 {
			windowed(updatesName, p.user, p.start, p.start+windowMs, i, 0)
		}
		if w.oracle.closed(p) {
			windowed(finalsName, p.user, p.start, p.start+windowMs, n, p.start+windowMs-1)
		}
	}
	closed, _ := w.oracle.sessions()
	for v, n := range closed {
		windowed(sessionsName, v.user, v.first, v.last+1, n, v.last)
	}
}

// differences runs a topic's check over records.
func (w written) differences(t *testing.T, topic string, records []*kgo.Record) (found []string) {
	t.Helper()
	c := checks(w.oracle, func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) })[topic]
	for _, r := range records {
		if err := c.add(r); err != nil {
			found = append(found, err.Error())
		}
	}
	c.end()
	return found
}

// Each check passes what is right, and goes red when one record is lost, doubled or changed, at the head, in the middle and
// at the tail, or when two records of one key change places.
func TestChecksFindEveryMutation(t *testing.T) {
	w := write(t, 100_000)
	for _, topic := range outputs {
		t.Run(topic, func(t *testing.T) {
			right := w.outputs[topic]
			require.Greater(t, len(right), 10)
			require.Empty(t, w.differences(t, topic, right))
			for _, at := range []int{0, len(right) / 2, len(right) - 1} {
				lost := slices.Delete(slices.Clone(right), at, at+1)
				if topic == totalsName || topic == updatesName { // only the last of a key may not be lost
					lost = slices.DeleteFunc(slices.Clone(right), func(r *kgo.Record) bool { return string(r.Key) == string(right[at].Key) })
				}
				require.NotEmpty(t, w.differences(t, topic, lost), "record %d is lost", at)
				require.NotEmpty(t, w.differences(t, topic, slices.Insert(slices.Clone(right), at, right[at])), "record %d is doubled", at)
				changed := *right[at]
				changed.Value = slices.Clone(changed.Value)
				switch topic {
				case lateName:
					changed.Key = []byte("user-0000000")
				case updatesName: // a lower count might have been told, at another moment
					changed.Value[0] ^= 0x40
				default:
					changed.Value[len(changed.Value)-1] ^= 1
				}
				mutated := slices.Clone(right)
				mutated[at] = &changed
				require.NotEmpty(t, w.differences(t, topic, mutated), "record %d is changed", at)
			}
			if topic != totalsName && topic != updatesName {
				return // one result a key
			}
			i := 0
			for string(right[i].Key) != string(right[i+1].Key) {
				i++
			}
			swapped := slices.Clone(right)
			swapped[i], swapped[i+1] = right[i+1], right[i]
			require.NotEmpty(t, w.differences(t, topic, swapped), "records %d and %d have changed places", i, i+1)
		})
	}
}

func TestLedger(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	handover := func(l *ledger) {
		l.note(at(5), runs, "b1", "1_0") // logs are read in any order
		l.note(at(1), runs, "a1", "1_0")
	}
	for name, test := range map[string]struct {
		between  func(l *ledger)
		overlaps int
		excused  int
	}{
		"given up first":    {func(l *ledger) { l.note(at(4), stops, "a1", "1_0") }, 0, 0},
		"killed first":      {func(l *ledger) { l.note(at(4), gone, "a1", "") }, 0, 0},
		"given up too late": {func(l *ledger) { l.note(at(6), stops, "a1", "1_0") }, 1, 0},
		"another task":      {func(l *ledger) { l.note(at(4), stops, "a1", "1_1") }, 1, 0},
		"paused":            {func(l *ledger) { l.note(at(2), doubtful, "a1", "") }, 0, 1},
		"another is paused": {func(l *ledger) { l.note(at(2), doubtful, "c1", "") }, 1, 0},
		"broker down":       {func(l *ledger) { l.note(at(2), troubled, "", "") }, 0, 1},
		"broker well again": {func(l *ledger) { l.note(at(2), troubled, "", ""); l.note(at(3), untroubled, "", "") }, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{}
			handover(l)
			test.between(l)
			v := l.judge()
			require.Len(t, v.overlaps, test.overlaps)
			require.Equal(t, test.excused, v.excused)
			require.Equal(t, 2, v.begun)
		})
	}
}
