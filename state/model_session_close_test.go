package state

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

func (s *sessionSubject) advance(r *rand.Rand, to int64) error {
	if !s.live.closing {
		s.live.watermark = max(s.live.watermark, to)
	}
	limit, n := 1+r.IntN(4), 0
	aside := map[string]bool{}
	more, err := s.Close(s.live.watermark, limit, func(row *Row[string]) error {
		k := s.live.next(s.w, aside)
		if n++; k == "" || n > limit {
			return fmt.Errorf("closing shows session %d (limit %d): %s, want %q", n, limit, described(row), k)
		}
		if err := s.final(row, k); err != nil {
			return err
		}
		s.live.mark(s.w, k[:len(k)-8], row.Last, aside)
		return nil
	})
	if err != nil {
		return err
	}
	if s.live.closing = more; more && n == limit {
		return nil
	}
	if k := s.live.next(s.w, aside); k != "" || more {
		return fmt.Errorf("closing showed %d sessions, limit %d, more %v, but %q is due", n, limit, more, k)
	}
	return s.ended()
}

// ended checks what a closing left.
func (s *sessionSubject) ended() error {
	if s.live.watermark == math.MaxInt64 {
		s.live.closedTo = max(s.live.closedTo, s.live.latest)
		s.live.watermark, s.live.over = max(-40, s.live.closedTo), true
		if s.Deadline() != math.MaxInt64 {
			return fmt.Errorf("after the end of a bounded run the deadline is %d", s.Deadline())
		}
		maps.DeleteFunc(s.live.markers, func(_ string, m marker) bool { return s.w.ClosesAt(m.due) <= s.live.closedTo })
	} else {
		s.live.closedTo = max(s.live.closedTo, s.live.watermark)
	}
	s.live.latest = math.MinInt64
	if want := (Progress{s.live.closedTo, ""}); s.Progress() != want {
		return fmt.Errorf("progress %v, want %v", s.Progress(), want)
	}
	return nil
}

// next returns the row key of the session to be closed next, if any is due,
// after closing the markers that are due before it.
func (m *sessionModel) next(w window.Session, aside map[string]bool) string {
	for {
		first, k, prefix := "", "", ""
		for rowKey, row := range m.rows {
			if o := orderKey(row.last, rowKey); w.ClosesAt(row.last) <= m.watermark && (first == "" || o < first) {
				first, k = o, rowKey
			}
		}
		for p, mark := range m.markers {
			o := orderKey(mark.due, p+sortable(math.MinInt64))
			if !aside[p] && w.ClosesAt(mark.due) <= m.watermark && (first == "" || o < first) {
				first, k, prefix = o, "", p
			}
		}
		if prefix == "" {
			return k
		}
		m.markerDue(prefix, aside)
	}
}

// markerDue keeps a marker while its key has open sessions.
func (m *sessionModel) markerDue(prefix string, aside map[string]bool) {
	mark, open := m.markers[prefix], false
	for k, row := range m.rows {
		if k[:len(k)-8] == prefix {
			open = true
			mark.due = max(mark.due, row.last+1)
		}
	}
	switch {
	case open:
		m.markers[prefix] = mark
	case m.watermark == math.MaxInt64:
		aside[prefix] = true
	default:
		delete(m.markers, prefix)
	}
}

// mark notes in the model that a session of a key has closed.
func (m *sessionModel) mark(w window.Session, prefix string, last int64, aside map[string]bool) {
	for p := range aside {
		delete(m.markers, p)
		delete(aside, p)
	}
	mark, ok := m.markers[prefix]
	if !ok {
		mark = marker{math.MinInt64, math.MinInt64}
	}
	m.markers[prefix] = marker{max(mark.end, last), max(mark.due, last+2*w.GapMs())}
}

// final is what the operator does with a session that closes.
func (s *sessionSubject) final(row *Row[string], k string) error {
	if row.key != k || described(row) != s.live.rows[k].String() {
		return fmt.Errorf("closing shows %q: %s, want %q: %s", row.key, described(row), k, s.live.rows[k])
	}
	if s.IsDirty(row) {
		if err := s.update(row); err != nil {
			return err
		}
	}
	told := fmt.Sprintf("%q [%d,%d]", s.Key(row), row.Start, row.Last)
	if v, ok := s.live.told[told]; !ok || v != row.Value {
		return fmt.Errorf("final of %s is %s, but updates told %q (%v)", told, row.Value, v, ok)
	}
	delete(s.live.told, told)
	delete(s.live.rows, k)
	s.live.latest = s.w.ClosesAt(row.Last)
	return nil
}

// besides checks the committed markers.
func (s *sessionSubject) besides(rows map[string][]byte, at Progress) error {
	want := maps.Clone(s.saved.markers)
	for k, v := range rows {
		prefix := k[:len(k)-8]
		r := &Row[string]{Start: fromSortable(k[len(k)-8:])}
		if s.closed(k, v, at) || !r.isMarker() {
			continue
		}
		if err := decodeRow(v, r, serde.String); err != nil || r.Time != want[prefix].end || r.Last != want[prefix].due {
			return fmt.Errorf("marker of %q: %d, until %d (%v), want %v", prefix, r.Time, r.Last, err, want[prefix])
		}
		delete(want, prefix)
	}
	for prefix, m := range want {
		if orderKey(m.due, prefix+sortable(math.MinInt64)) > at.After { // else it is only due
			return fmt.Errorf("marker of %q is missing: %v", prefix, m)
		}
	}
	return nil
}
