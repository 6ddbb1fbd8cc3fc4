package state

// dropClosed deletes the sessions in Pebble that were closed before, and finds
// the first hint of the others.
func (s *Session[V]) dropClosed() error {
	b := s.part.newBatch()
	err := s.part.scan(indexKind, "", "", func(k, _ []byte) (bool, error) {
		order := string(k)
		if !s.isClosed(order) {
			s.hinted, s.hints = true, order
			return false, nil
		}
		if err := b.delete(indexKind, order); err != nil {
			return false, err
		}
		_, err := s.part.get(order[8:], func(v []byte) error {
			last, err := rowLast(order[8:], v)
			if err == nil && s.isClosed(orderKey(last, order[8:])) {
				err = b.delete(rowKind, order[8:])
			}
			return err
		})
		return true, err
	})
	if err != nil {
		return b.discard(err)
	}
	if s.hinted {
		order, _, err := s.part.last(indexKind)
		if err != nil {
			return b.discard(err)
		}
		// Which offsets hold these rows is not known: all of the log so far may.
		s.segments.open(0, s.window.ClosesAt(fromSortable(order)))
		s.fresh, s.left = s.enough, true
	}
	return b.commit(nil)
}

// followHints loads the keys of up to limit hints that are due.
func (s *Session[V]) followHints(watermark int64, limit int) error {
	if !s.hinted || s.window.ClosesAt(fromSortable(s.hints)) > watermark {
		return nil
	}
	var found []string
	next, more := "", false
	err := s.part.scan(indexKind, s.hints, "", func(k, _ []byte) (bool, error) {
		if s.window.ClosesAt(fromSortable(k)) > watermark || len(found) >= limit {
			next, more = string(k), true
			return false, nil
		}
		found = append(found, string(k))
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, order := range found {
		if _, err := s.of([]byte(order[8 : len(order)-8])); err != nil {
			return err
		}
	}
	s.hinted, s.hints = more, next
	return nil
}

// writeHint adds the hint that leads to a row. While the row is in the cache,
// nobody need follow it.
func (s *Session[V]) writeHint(b *batch, r *Row[V]) error {
	s.fresh, s.left = s.fresh+1, true
	return b.set(indexKind, orderKey(r.Last, r.key), nil)
}

// trimAfter is how many hints are written before closed ones are deleted: each
// time is a range deletion, which all reads near it have to look at.
const trimAfter = 500

// edge is how far closings have come: order keys below it are closed.
func (s *Session[V]) edge() string {
	if s.after == "" {
		return s.base
	}
	return max(s.base, s.after+"\x00")
}

// trim deletes the hints below the edge of a commit up to which everything is
// in Pebble. The sessions that they led to are then deleted there, or have
// grown and have other hints.
func (s *Session[V]) trim(b *batch, edge string) error {
	empty := len(s.keys) == 0 && !s.hinted && edge == s.edge() // then, all hints are below it
	if !s.left || s.fresh < s.enough && !empty || edge <= s.trimmed {
		return nil
	}
	lo := s.trimmed
	s.fresh, s.left, s.trimmed = 0, !empty, edge
	return b.deleteRange(indexKind, lo, edge)
}
