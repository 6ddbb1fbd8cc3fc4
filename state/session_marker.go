package state

import (
	"math"

	"github.com/weirstream/weir/window"
)

// A record that touches a session whose final result is out is late, though a
// session of its own would still be open. So a key remembers when its last
// session closed: in a marker, a row that begins where no session can, before
// all times. Its Time is when the closed session ended. Its Last is chosen so
// that it falls due, as sessions do, when no record can touch that session any
// more without being late by its own time, nor open another one beside it.

// isMarker reports whether a session store's row is a marker.
func (r *Row[V]) isMarker() bool { return r.Start == math.MinInt64 }

// Reaches reports whether a record at ms would touch a session of the key that
// is closed already, or is older than one.
func (s *Session[V]) Reaches(g *Sessions[V], ms int64) bool {
	return g.marker != nil && (ms <= g.marker.Time || s.window.Touches(g.marker.Time, g.marker.Time, ms))
}

// mark notes that a session has closed.
func (s *Session[V]) mark(closed *Row[V]) {
	prefix := closed.key[:len(closed.key)-8]
	g := s.keys[prefix]
	if g == nil {
		g = &Sessions[V]{key: prefix}
	}
	s.keep(g)
	if g.marker == nil {
		k := prefix + sortable(math.MinInt64)
		g.marker = &Row[V]{Start: math.MinInt64, Time: closed.Last, Shown: Unshown, key: k, size: rowSize(k, nil)}
		g.marker.Last = farthest(s.window, closed.Last)
		s.bytes += int64(g.marker.size)
		s.enter(g.marker)
	}
	m := g.marker
	m.Time, m.Last = max(m.Time, closed.Last), max(m.Last, farthest(s.window, closed.Last))
	s.Touch(m)
}

// farthest is how late a session can end that was opened beside one that ended
// at last: two gaps later.
func farthest(w window.Session, last int64) int64 {
	if gap := w.GapMs(); last <= math.MaxInt64-2*gap {
		return last + 2*gap
	}
	return math.MaxInt64
}

// closeMarker forgets a marker that is due. At the end of a bounded run, the
// markers after the last session are put aside: time will stand before they are
// due, and the run that follows needs them.
func (s *Session[V]) closeMarker(m *Row[V], watermark int64) {
	switch {
	case s.prolong(m):
	case watermark == math.MaxInt64:
		s.aside = append(s.aside, m)
	default:
		s.after, s.closing = orderKey(m.Last, m.key), true
		s.forget(m)
	}
}

// prolong keeps a marker that is due while the key has open sessions, which
// records may make grow towards the closed one.
func (s *Session[V]) prolong(m *Row[V]) bool {
	g := s.keys[m.key[:len(m.key)-8]]
	if len(g.Rows) == 0 || m.Last == math.MaxInt64 {
		return false
	}
	for _, r := range g.Rows {
		m.Last = max(m.Last, r.Last+1) // after that session: it then moves the marker on itself
	}
	s.enter(m)
	s.Touch(m)
	return true
}
