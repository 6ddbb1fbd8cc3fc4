package verify

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// A specimen is a store's changelog, and a database that is right.
type specimen struct {
	store    Store
	log      Log
	fired    int64
	position int64
	rows     map[string]string
}

func value(n int64) string { return string(binary.AppendVarint([]byte{1, 0}, n)) + fmt.Sprint(n) }

// keyValue has three keys, of which two changed after the position: one of those
// changes is in Pebble already, which is allowed, and one key was deleted.
func keyValue() specimen {
	s := specimen{
		store:    Store{Descriptor: state.Descriptor{Name: "kv", Kind: "key-value"}, Changelog: "kv"},
		position: 6, rows: map[string]string{"a": value(5), "b": value(4), "c": value(7)},
	}
	s.append("a", value(0), "b", value(1), "d", value(2), "c", value(3), "b", value(4), "a", value(5), "d", "", "c", value(7), "b", value(8))
	return s
}

// windows has a window that is closed, of which a row is left, and one that is
// open.
func windows() specimen {
	w := window.Tumbling(10_000_000_000) // 10 s
	key := func(start int64, k string) string {
		return string(binary.BigEndian.AppendUint64(nil, uint64(start)^1<<63)) + k
	}
	s := specimen{
		store: Store{Descriptor: state.Descriptor{Name: "w", Kind: "window"}, Changelog: "w", Closes: w.ClosesAt},
		fired: 10_000, position: 4,
		rows: map[string]string{key(0, "a"): value(0), key(10_000, "a"): value(2), key(10_000, "b"): value(4)},
	}
	s.append(key(0, "a"), value(0), key(0, "b"), value(1), key(10_000, "a"), value(2), key(10_000, "b"), value(3), key(10_000, "b"), value(4))
	return s
}

func (s *specimen) append(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		rec := &kgo.Record{Offset: s.log.End, Key: []byte(pairs[i]), Value: []byte(pairs[i+1])}
		if pairs[i+1] == "" {
			rec.Value = nil
		}
		s.log.Records = append(s.log.Records, rec)
		s.log.End++
	}
}

// audit writes the specimen's rows to a database and checks that.
func (s *specimen) audit(t *testing.T) error {
	t.Helper()
	db, err := state.Open(state.Options{Dir: "d", FS: vfs.NewMem()})
	require.NoError(t, err)
	part, err := db.Lease(s.store.Descriptor, 0)
	require.NoError(t, err)
	var changes []state.Change
	for k, v := range s.rows {
		changes = append(changes, state.Change{Key: k, Value: []byte(v)})
	}
	if s.position >= 0 {
		require.NoError(t, part.Restore(changes, state.Position{Offset: s.position}, false))
	}
	part.Release()
	a := &Audit{
		Stores: []Store{s.store}, Logs: map[string][]Log{s.store.Changelog: {s.log}},
		Fired: map[int32][]checkpoint.Meta{0: {{Fired: s.fired}}},
	}
	_, err = a.Check(db)
	require.NoError(t, db.Close())
	return err
}

func TestAuditOfRightStates(t *testing.T) {
	for _, make := range []func() specimen{keyValue, windows} {
		s := make()
		require.NoError(t, s.audit(t))
		s.position, s.rows = -1, nil // an empty disk
		require.NoError(t, s.audit(t))
		s.position = 0
		require.NoError(t, s.audit(t))
		s = make()
		s.log.Start = s.position + 1 // to be rebuilt
		s.rows["anything"] = value(9)
		require.NoError(t, s.audit(t))
	}
}

// What is wrong with a database is seen, row by row.
func TestAuditSeesEveryMutant(t *testing.T) {
	for name, make := range map[string]func() specimen{"key-value": keyValue, "window": windows} {
		good := make()
		closed := (&Audit{Fired: map[int32][]checkpoint.Meta{0: {{Fired: good.fired}}}}).closed(good.store, 0)
		for _, k := range slices.Sorted(maps.Keys(good.rows)) {
			s := make()
			s.rows[k] = value(99) // of a transaction that was aborted
			require.Error(t, s.audit(t), "%s: row %q, uncommitted", name, k)
			if closed(k, nil) {
				continue
			}
			s = make()
			delete(s.rows, k)
			require.Error(t, s.audit(t), "%s: row %q, dropped", name, k)
		}
		s := make()
		s.rows[string(binary.BigEndian.AppendUint64(nil, uint64(50_000)^1<<63))+"new"] = value(99)
		require.Error(t, s.audit(t), "%s: a row too much", name)
		s = make()
		s.position = s.log.End + 1
		require.Error(t, s.audit(t), "%s: a position past the end", name)
	}
	s := keyValue()
	s.rows["a"] = value(0)
	require.Error(t, s.audit(t), "a row that is older than the position")
	s = keyValue()
	s.rows["a"], s.rows["b"] = s.rows["b"], s.rows["a"]
	require.Error(t, s.audit(t), "rows swapped")
	s = keyValue()
	s.position = 7
	s.rows["d"] = value(2)
	require.Error(t, s.audit(t), "a row that was deleted before the position")
	s = keyValue()
	s.position = 9
	require.Error(t, s.audit(t), "a position ahead of its rows")
}

// A record of the changelog that is lost, doubled or changed shows in what it
// amounts to.
func TestRowsSeeChangesOfTheLog(t *testing.T) {
	rowsOf := func(s specimen) map[string][]byte {
		a := &Audit{Logs: map[string][]Log{"kv": {s.log}}, Fired: map[int32][]checkpoint.Meta{0: {{Fired: math.MinInt64}}}}
		return a.Rows(s.store, 0)
	}
	want := rowsOf(keyValue())
	require.Equal(t, map[string][]byte{"a": []byte(value(5)), "b": []byte(value(8)), "c": []byte(value(7))}, want)
	for _, i := range []int{5, 6, 7, 8} { // the last of each key
		s := keyValue()
		s.log.Records = slices.Delete(s.log.Records, i, i+1)
		require.NotEqual(t, want, rowsOf(s), "record %d dropped", i)
		s = keyValue()
		s.log.Records[i].Value = []byte(value(99))
		require.NotEqual(t, want, rowsOf(s), "record %d changed", i)
	}
}

func TestDecodeRow(t *testing.T) {
	for _, bad := range []string{"", "\x01", "\x02\x00\x00"} {
		_, err := DecodeRow("key-value", "k", []byte(bad))
		require.Error(t, err, "%q", bad)
	}
	_, err := DecodeRow("window", "short", []byte(value(1)))
	require.Error(t, err)
	_, err = DecodeRow("session", "\x09k12345678", []byte(value(1)))
	require.Error(t, err)
	r, err := DecodeRow("window", string(binary.BigEndian.AppendUint64(nil, uint64(70)^1<<63))+"k", []byte(value(-3)))
	require.NoError(t, err)
	require.Equal(t, Row{Key: []byte("k"), Start: 70, Time: -3, Value: []byte("-3")}, r)
}
