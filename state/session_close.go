package state

import (
	"container/heap"
	"math"
	"slices"

	"github.com/weirstream/weir/window"
)

// ClosedAt reports whether a session that ended at last is closed here.
func (s *Session[V]) ClosedAt(last int64) bool { return s.window.ClosesAt(last) <= s.closedTo }

// isClosed is ClosedAt for an order key, also while a Close is under way.
func (s *Session[V]) isClosed(order string) bool {
	return order < s.base || s.after != "" && order <= s.after
}

// Deadline is a watermark before which no session closes; MaxInt64 if none is
// open.
func (s *Session[V]) Deadline() int64 {
	d := int64(math.MaxInt64)
	if len(s.due) > 0 {
		d = s.window.ClosesAt(s.due[0].last)
	}
	if s.hinted {
		d = min(d, s.window.ClosesAt(fromSortable(s.hints)))
	}
	return d
}

// Progress is how far closing has come.
func (s *Session[V]) Progress() Progress { return Progress{Closed: s.closedTo, After: s.after} }

// Close shows visit every session that closes at the watermark or before, in
// the order of their ends and keys, and forgets it. It stops after limit
// sessions and then returns true: Close must be called again, before any other
// change.
func (s *Session[V]) Close(watermark int64, limit int, visit func(*Row[V]) error) (bool, error) {
	s.aside = s.aside[:0]
	for s.isDue(watermark) {
		if limit <= 0 {
			return true, nil
		}
		if err := s.followHints(watermark, limit); err != nil {
			return false, err
		}
		n, err := s.closeCached(watermark, limit, visit)
		if err != nil {
			return false, err
		}
		limit -= n
	}
	if watermark == math.MaxInt64 { // the end of a bounded run: time stands where the last session closed
		watermark = s.closedTo
		if s.after != "" {
			watermark = s.window.ClosesAt(fromSortable(s.after))
		}
	}
	s.closedTo, s.after = max(s.closedTo, watermark), ""
	s.base = openFrom(s.window, s.closedTo)
	return false, nil
}

func (s *Session[V]) isDue(watermark int64) bool {
	return (len(s.due) > 0 || s.hinted) && s.Deadline() <= watermark
}

// closeCached closes up to limit sessions that are in the cache. Those that
// come after a hint must wait until that has been followed.
func (s *Session[V]) closeCached(watermark int64, limit int, visit func(*Row[V]) error) (n int, err error) {
	for n < limit && len(s.due) > 0 && s.window.ClosesAt(s.due[0].last) <= watermark {
		top := s.due[0]
		order := orderKey(top.last, top.row.key)
		if s.hinted && order >= s.hints {
			break
		}
		heap.Pop(&s.due)
		if !top.isLive() {
			s.enterAgain(top.row)
			continue
		}
		if top.row.isMarker() {
			s.closeMarker(top.row, watermark)
			continue
		}
		n++
		for _, m := range s.aside {
			s.forget(m)
		}
		s.aside = s.aside[:0]
		s.after, s.closing = order, true
		s.forget(top.row)
		s.mark(top.row)
		if err := visit(top.row); err != nil {
			return n, err
		}
	}
	return n, nil
}

// forget takes a closed session out of the cache. Its row is deleted from
// Pebble once that is committed.
func (s *Session[V]) forget(r *Row[V]) {
	r.status |= dead
	s.resize(r, 0)
	g := s.keys[r.key[:len(r.key)-8]]
	if r == g.marker {
		g.marker = nil
	} else {
		i := slices.Index(g.Rows, r)
		g.Rows = slices.Delete(g.Rows, i, i+1)
	}
	s.leave(g)
	if r.status.has(written) {
		s.closed = append(s.closed, r)
	}
}

// queueClosed queues the deletions of closed sessions, before the changes of
// this barrier: another session may have come to begin where one of them did.
func (s *Session[V]) queueClosed(commit int64) {
	for _, r := range s.closed {
		s.wait(commit, r)
	}
	clear(s.closed)
	s.closed = s.closed[:0]
}

// openFrom returns the order key that no session is below which closes after
// the watermark.
func openFrom(w window.Session, watermark int64) string {
	wait := w.ClosesAt(0) - 1 // gap and grace
	switch {
	case watermark == math.MaxInt64:
		return "\xff\xff\xff\xff\xff\xff\xff\xff\xff"
	case watermark < math.MinInt64+wait:
		return ""
	}
	return sortable(watermark - wait)
}

// orderKey orders sessions by their ends, then by row key.
func orderKey(last int64, rowKey string) string { return sortable(last) + rowKey }

// A due is when a session will be due, if it does not grow.
type due[V any] struct {
	last int64
	row  *Row[V]
}

// isLive tells an entry whose session is still as it says from one whose
// session has grown or gone since.
func (d due[V]) isLive() bool {
	return !d.row.Deleted && !d.row.status.has(dead) && d.row.Last == d.last
}

// enter enters a session among those that will be due.
func (s *Session[V]) enter(r *Row[V]) { heap.Push(&s.due, due[V]{r.Last, r}) }

// enterAgain enters a session again, if it has grown since it was entered.
func (s *Session[V]) enterAgain(r *Row[V]) {
	if r.Deleted || r.status.has(dead) {
		s.dead--
		return
	}
	s.enter(r)
}

// bury notes that an entry of the heap has become one of no session, and drops
// such entries when half of the heap is.
func (s *Session[V]) bury() {
	if s.dead++; s.dead <= 1024 || s.dead <= len(s.due)/2 {
		return
	}
	s.due = slices.DeleteFunc(s.due, func(d due[V]) bool { return d.row.Deleted || d.row.status.has(dead) })
	heap.Init(&s.due)
	s.dead = 0
}

type dueHeap[V any] []due[V]

func (h dueHeap[V]) Len() int { return len(h) }
func (h dueHeap[V]) Less(i, j int) bool {
	if h[i].last != h[j].last {
		return h[i].last < h[j].last
	}
	return h[i].row.key < h[j].row.key
}
func (h dueHeap[V]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap[V]) Push(x any)   { *h = append(*h, x.(due[V])) }
func (h *dueHeap[V]) Pop() any {
	n := len(*h) - 1
	x := (*h)[n]
	(*h)[n] = due[V]{}
	*h = (*h)[:n]
	return x
}
