package state

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
)

// Case C51: what is put and deleted leaves nothing behind.
func TestPutAndDeleteDoesNotGrow(t *testing.T) {
	p := lease(t, tempDB(t), "key-value")
	s, err := OpenKeyValue(p, discardLog{}, serde.String)
	require.NoError(t, err)
	for i := range 50_000 {
		key := fmt.Append(nil, i)
		r, _, err := s.Upsert(key)
		require.NoError(t, err)
		s.Touch(r)
		if i%2 == 0 {
			commitIfDue(t, s, i)
		}
		_, err = s.Delete(key)
		require.NoError(t, err)
		commitIfDue(t, s, i)
		if r, _, err = s.Upsert(key); err != nil || i%3 > 0 { // sometimes it is taken back
			s.Undo(r)
		} else {
			_, err = s.Delete(key)
		}
		require.NoError(t, err)
	}
	commitAndWrite(t, s, 1<<20)
	require.Empty(t, s.rows)
	require.Zero(t, s.Bytes())
	require.LessOrEqual(t, len(s.ring), 2100, "rows that are gone leave the ring")
	require.LessOrEqual(t, len(s.ends), 1)
	require.Less(t, cap(s.waiting.rows), 10_000)
	rows, err := rowsOf(p)
	require.NoError(t, err)
	require.Empty(t, rows)
}

func commitIfDue(t *testing.T, s store, i int) {
	if i%500 == 499 {
		commitAndWrite(t, s, int64(i))
	}
}

// Records that come in falling order make a new session each, and take the last
// one away.
func TestMergingSessionsDoesNotGrow(t *testing.T) {
	p := lease(t, tempDB(t), "session")
	s, err := OpenSession(p, discardLog{}, serde.String, gap5Ms, start)
	require.NoError(t, err)
	for i := range 20_000 {
		g, err := s.Of([]byte("key"))
		require.NoError(t, err)
		last := int64(0)
		if len(g.Rows) > 0 {
			s.Remove(g, g.Rows[0])
		}
		s.Touch(s.Insert(g, -int64(i), last))
		commitIfDue(t, s, i)
	}
	commitAndWrite(t, s, 1<<20)
	require.LessOrEqual(t, len(s.due), 2100)
	require.LessOrEqual(t, s.Bytes(), int64(3*rowOverhead))
	rows, err := rowsOf(p)
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

// Asking for keys that have no sessions keeps nothing.
func TestAskingForSessionsDoesNotGrow(t *testing.T) {
	p := lease(t, tempDB(t), "session")
	s, err := OpenSession(p, discardLog{}, serde.String, gap5Ms, start)
	require.NoError(t, err)
	for i := range 1000 {
		_, err := s.Of(fmt.Append(nil, i))
		require.NoError(t, err)
	}
	require.Empty(t, s.keys)
	require.Zero(t, s.Bytes())
}

// Evicted sessions are not kept by what will be due.
func TestEvictedSessionsAreGone(t *testing.T) {
	p := lease(t, tempDB(t), "session")
	s, err := OpenSession(p, discardLog{}, serde.String, gap5Ms, start)
	require.NoError(t, err)
	for round := range int64(20) {
		for i := range 500 {
			g, err := s.Of(fmt.Append(nil, i))
			require.NoError(t, err)
			if len(g.Rows) == 0 {
				s.Insert(g, 7, 7)
			}
			s.Touch(g.Rows[0])
		}
		commitAndWrite(t, s, round+1)
		require.Positive(t, s.Evict(math.MaxInt64))
		require.Zero(t, s.Bytes())
	}
	require.LessOrEqual(t, len(s.due), 2100)
	n := 0
	more, err := s.Close(1000, 10_000, func(*Row[string]) error { n++; return nil })
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, 500, n)
}

// Windows that come and go leave nothing behind.
func TestWindowsDoNotGrow(t *testing.T) {
	p := lease(t, tempDB(t), "window")
	s, err := OpenWindow(p, discardLog{}, serde.String, tenMs, start)
	require.NoError(t, err)
	for i := range int64(2000) {
		r, _, err := s.Upsert(i*10, []byte("key"))
		require.NoError(t, err)
		s.Touch(r)
		if i%7 == 0 {
			commitAndWrite(t, s, i+1)
		}
		_, err = s.Close(i*10, 100, func(*Row[string]) error { return nil })
		require.NoError(t, err)
	}
	_, err = s.Close(1<<40, 100, func(*Row[string]) error { return nil })
	require.NoError(t, err)
	commitAndWrite(t, s, 1<<20)
	require.Zero(t, s.Bytes())
	require.Empty(t, s.panes)
	require.Empty(t, s.gone)
	require.EqualValues(t, 1<<20*10, s.NeededFrom(1<<40), "all of the log can go")
	require.Empty(t, s.segments.list)
	rows, err := rowsOf(p)
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestSegmentsAreMerged(t *testing.T) {
	var s segments
	for i := range int64(5000) {
		s.flushed(1000 + i)
		s.committed(10 * (i + 1))
	}
	require.LessOrEqual(t, len(s.list), maxSegments+1)
	last := int64(0)
	for w := int64(900); w < 7000; w += 10 {
		from := s.neededFrom(w)
		require.GreaterOrEqual(t, from, last)
		require.LessOrEqual(t, from, max(0, 10*(w-1000+1)), "what closes after %d is still needed", w)
		last = from
	}
	require.EqualValues(t, 50_000, last)
}
