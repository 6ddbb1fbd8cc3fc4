package state

import (
	"math"
	"slices"
	"strings"
)

// Deadline is the watermark at which the next window closes; MaxInt64 if none
// is open.
func (s *Window[V]) Deadline() int64 {
	if len(s.starts) == 0 {
		return math.MaxInt64
	}
	return s.fixed.ClosesAt(s.starts[0])
}

// Progress is how far closing has come.
func (s *Window[V]) Progress() Progress { return Progress{Closed: s.closedTo, After: s.after} }

// Close shows visit the rows of every window that closes at the watermark or
// before, in the order of their ends and keys, and forgets them. It stops after
// limit rows and then returns true: Close must be called again, before any
// Upsert.
func (s *Window[V]) Close(watermark int64, limit int, visit func(*Row[V]) error) (bool, error) {
	for len(s.starts) > 0 && s.Deadline() <= watermark {
		if limit <= 0 {
			return true, nil
		}
		n, err := s.closePane(s.starts[0], limit, visit)
		if err != nil {
			return false, err
		}
		limit -= n
	}
	s.closedUpTo(watermark)
	return false, nil
}

// closedUpTo notes that everything is closed that closes at the watermark or
// before. At the end of a bounded run time stands where the last window closed.
func (s *Window[V]) closedUpTo(watermark int64) {
	if watermark == math.MaxInt64 {
		watermark = s.closedTo
		if s.after != "" {
			watermark = s.fixed.ClosesAt(fromSortable(s.after))
		}
	}
	s.closedTo, s.after = max(s.closedTo, watermark), ""
}

// Discard forgets every window that closes at the watermark or before, where
// nobody wants to see all its rows: it shows visit only those that changed since
// the last barrier, in the order in which they first did. It neither sorts rows
// nor reads them back.
func (s *Window[V]) Discard(watermark int64, visit func(*Row[V]) error) error {
	if s.Deadline() > watermark {
		s.closedUpTo(watermark)
		return nil
	}
	for _, r := range s.dirty {
		if !r.status.has(dead) && s.fixed.ClosesAt(r.Start) <= watermark {
			if err := visit(r); err != nil {
				return err
			}
		}
	}
	s.closing = true
	for s.Deadline() <= watermark && len(s.starts) > 0 {
		start := s.starts[0]
		p := s.panes[start]
		if p.cold || len(p.rows) > 0 {
			s.after = sortable(start)
		}
		s.dropPane(start, p)
	}
	s.closedUpTo(watermark)
	return nil
}

// closePane shows up to limit rows of a window, from where the last call
// stopped, and drops the window if that was all.
func (s *Window[V]) closePane(start int64, limit int, visit func(*Row[V]) error) (int, error) {
	p := s.panes[start]
	s.closing = true
	if p.sorted == nil {
		p.sorted = make([]*Row[V], 0, len(p.rows))
		for _, r := range p.rows {
			p.sorted = append(p.sorted, r)
		}
		slices.SortFunc(p.sorted, byKey[V])
	}
	lo, n, rest := sortable(start), 0, false
	if s.after >= lo {
		lo = s.after + "\x00"
	}
	show := func(r *Row[V]) (bool, error) {
		if n == limit {
			rest = true
			return false, nil
		}
		n++
		r.status |= dead
		s.after = r.key
		return true, visit(r)
	}
	var err error
	if p.cold {
		err = s.merge(lo, after(start), p.sorted, show)
	} else {
		err = p.from(lo, show)
	}
	if err == nil && !rest {
		s.dropPane(start, p)
	}
	return n, err
}

// from calls f with the sorted rows from a key on, until it returns false.
func (p *pane[V]) from(lo string, f func(*Row[V]) (bool, error)) error {
	i, _ := slices.BinarySearchFunc(p.sorted, lo, func(r *Row[V], k string) int { return strings.Compare(r.key, k) })
	for _, r := range p.sorted[i:] {
		if more, err := f(r); err != nil || !more {
			return err
		}
	}
	return nil
}

// dropPane forgets the first window, all of whose rows have been shown.
func (s *Window[V]) dropPane(start int64, p *pane[V]) {
	wasWritten := p.cold
	for _, r := range p.rows {
		wasWritten = wasWritten || r.status.has(written)
		r.status |= dead
		s.resize(r, 0)
	}
	delete(s.panes, start)
	s.starts = s.starts[1:]
	if wasWritten {
		s.closed = append(s.closed, start)
	}
}
