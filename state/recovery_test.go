package state

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// Case C49: deleted rows do not come back in scans.
func TestDeletedRowsStayAway(t *testing.T) {
	p := lease(t, tempDB(t), "key-value")
	s, err := OpenKeyValue(p, discardLog{}, serde.String)
	require.NoError(t, err)
	put := func(key string) {
		r, _, err := s.Upsert([]byte(key))
		require.NoError(t, err)
		r.Value = "v"
		s.Touch(r)
	}
	for _, key := range []string{"0", "1", "2", "3"} {
		put(key)
	}
	commitAndWrite(t, s, 1)
	s.Evict(math.MaxInt64)
	for _, key := range []string{"1", "2"} {
		_, err := s.Delete([]byte(key))
		require.NoError(t, err)
	}
	put("4")
	want := []string{"0=v", "3=v", "4=v"}
	require.Equal(t, want, all(t, s), "in the open transaction")
	commit(t, s, 2)
	s.Evict(math.MaxInt64)
	require.Equal(t, want, all(t, s), "committed, and not written yet")
	_, err = s.WriteBehind(2, math.MaxInt)
	require.NoError(t, err)
	s.Evict(math.MaxInt64)
	require.Equal(t, want, all(t, s), "written")
	r, err := s.Get([]byte("1"))
	require.NoError(t, err)
	require.Nil(t, r)
}

// Cases C51 and C72: a delete is in the changelog, and what was not committed
// is nowhere.
func TestReplayGivesWhatWasCommitted(t *testing.T) {
	db := tempDB(t)
	p := lease(t, db, "key-value")
	log := &fakeLog{r: rand.New(rand.NewPCG(1, 1))}
	s, err := OpenKeyValue(p, log, serde.String)
	require.NoError(t, err)
	put := func(key, value string) {
		r, _, err := s.Upsert([]byte(key))
		require.NoError(t, err)
		r.Value = value
		s.Touch(r)
	}
	put("kept", "1")
	put("deleted", "1")
	require.NoError(t, s.Flush(1, nil))
	s.Committed(1, Position{Offset: log.commit()})
	_, err = s.Delete([]byte("deleted"))
	require.NoError(t, err)
	require.NoError(t, s.Flush(2, nil))
	s.Committed(2, Position{Offset: log.commit()})
	_, err = s.WriteBehind(2, math.MaxInt)
	require.NoError(t, err)
	put("kept", "aborted")
	put("new", "aborted")
	require.NoError(t, s.Flush(3, nil))
	log.abort()
	p.Release()

	check := func(p *Partition) {
		s, err := OpenKeyValue(p, log, serde.String)
		require.NoError(t, err)
		require.Equal(t, []string{"kept=1"}, all(t, s))
		for _, key := range []string{"deleted", "new"} {
			r, err := s.Get([]byte(key))
			require.NoError(t, err)
			require.Nil(t, r, key)
		}
	}
	p = lease(t, db, "key-value")
	check(p)
	require.NoError(t, p.Clear())
	_, ok, err := p.Position()
	require.NoError(t, err)
	require.False(t, ok, "a cleared partition stands for nothing")
	for _, rec := range log.records {
		require.NoError(t, p.Restore([]Change{rec.Change}, Position{Offset: rec.offset + 1}, false))
	}
	check(p)
}

// Case C74: windows that were restored, and that nobody touches again, still
// have their finals, once, and leave the disk.
func TestRestoredWindowsStillClose(t *testing.T) {
	fs := vfs.NewCrashableMem()
	log := &fakeLog{r: rand.New(rand.NewPCG(1, 1))}
	w := window.Tumbling(10 * time.Millisecond)
	db := openDB(t, fs)
	s, err := OpenWindow(lease(t, db, "window"), log, serde.String, w, start)
	require.NoError(t, err)
	for i := range 50 {
		r, _, err := s.Upsert(0, fmt.Appendf(nil, "%02d", i))
		require.NoError(t, err)
		s.Touch(r)
	}
	require.NoError(t, s.Flush(1, nil))
	s.Committed(1, Position{Offset: log.commit()})

	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	require.NoError(t, db.Close())
	db = openDB(t, clone)
	defer func() { require.NoError(t, db.Close()) }()
	p := lease(t, db, "window")
	_, ok, err := p.Position()
	require.NoError(t, err)
	require.False(t, ok, "nothing was synced")
	for _, rec := range log.records {
		require.NoError(t, p.Restore([]Change{rec.Change}, Position{Offset: log.end}, false))
	}
	s, err = OpenWindow(p, log, serde.String, w, start)
	require.NoError(t, err)
	require.EqualValues(t, 10, s.Deadline())
	r, _, err := s.Upsert(1000, []byte("x"))
	require.NoError(t, err)
	s.Touch(r)
	var finals []string
	for more, steps := true, 0; more; steps++ {
		require.Less(t, steps, 10)
		more, err = s.Close(1000, 7, func(r *Row[string]) error {
			finals = append(finals, s.Key(r))
			return nil
		})
		require.NoError(t, err)
	}
	require.Len(t, finals, 50)
	require.IsIncreasing(t, finals)
	commitAndWrite(t, s, 2)
	require.Equal(t, []string{"x="}, all(t, s))
	rows, err := rowsOf(p)
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

// A session that begins where a closed one did is not deleted with it, however
// late that is written.
func TestSessionsThatBeginWhereClosedOnesDid(t *testing.T) {
	p := lease(t, tempDB(t), "session")
	s, err := OpenSession(p, discardLog{}, serde.String, gap5Ms, start)
	require.NoError(t, err)
	insert := func(first, last int64, value string) {
		g, err := s.Of([]byte("k"))
		require.NoError(t, err)
		r := s.Insert(g, first, last)
		r.Value = value
		s.Touch(r)
	}
	insert(5, 10, "old")
	commitAndWrite(t, s, 1)
	_, err = s.Close(20, 10, func(*Row[string]) error { return nil })
	require.NoError(t, err)
	insert(5, 100, "new")
	commit(t, s, 2)
	for n := 1; n > 0; { // one change at a time
		n, err = s.WriteBehind(2, 1)
		require.NoError(t, err)
	}
	s.Evict(math.MaxInt64)
	require.Equal(t, []string{"k=new"}, all(t, s))
}

// At the very end of time several windows close at once; an interrupted closing
// shows each once, also after a restart.
func TestClosingAtTheEndOfTime(t *testing.T) {
	db := tempDB(t)
	p := lease(t, db, "window")
	w := window.Hopping(20*time.Millisecond, 10*time.Millisecond).Grace(time.Hour)
	log := &fakeLog{r: rand.New(rand.NewPCG(1, 1))}
	s, err := OpenWindow(p, log, serde.String, w, start)
	require.NoError(t, err)
	late := int64(math.MaxInt64 - 1)
	for start := w.First(late); start <= late; start = w.Next(start) {
		for _, key := range []string{"a", "b"} {
			r, _, err := s.Upsert(start, []byte(key))
			require.NoError(t, err)
			s.Touch(r)
		}
	}
	var finals []string
	visit := func(r *Row[string]) error {
		finals = append(finals, fmt.Sprint(math.MaxInt64-r.Start, s.Key(r)))
		return nil
	}
	commitAndWrite(t, s, 1)
	for n := int64(2); ; n++ {
		more, err := s.Close(math.MaxInt64, 1, visit)
		require.NoError(t, err)
		commitAndWrite(t, s, n)
		at := s.Progress()
		p.Release()
		p = lease(t, db, "window")
		s, err = OpenWindow(p, log, serde.String, w, at)
		require.NoError(t, err)
		if !more && len(s.starts) == 0 {
			break
		}
	}
	require.Equal(t, []string{"17a", "17b", "7a", "7b"}, finals)
}

// A session that was merged away does not come back from Pebble while its
// deletion waits, though all that is left of its key is written.
func TestMergedSessionsStayAway(t *testing.T) {
	p := lease(t, tempDB(t), "session")
	s, err := OpenSession(p, discardLog{}, serde.String, gap5Ms, start)
	require.NoError(t, err)
	of := func() *Sessions[string] {
		g, err := s.Of([]byte("k"))
		require.NoError(t, err)
		return g
	}
	s.Touch(s.Insert(of(), 18, 18))
	commitAndWrite(t, s, 1)
	s.Touch(s.Insert(of(), 8, 8))
	commit(t, s, 2)
	g := of()
	merged := g.Rows[0]
	s.Remove(g, g.Rows[1])
	merged.Last = 18
	s.Touch(merged)
	commit(t, s, 3)
	n, err := s.WriteBehind(3, 1)
	require.NoError(t, err)
	require.Equal(t, 1, n, "the merged session, which waited longer, is written first")
	s.Evict(math.MaxInt64)
	require.Len(t, of().Rows, 1)
	require.Equal(t, []string{"k="}, all(t, s))
}
