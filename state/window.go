package state

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// A Window is a store of one row per window and key, grouped by window: rows
// are laid out start ‖ key, so that closing a window walks one map and drops
// one range.
type Window[V any] struct {
	Writeback[V]
	fixed window.Fixed

	panes  map[int64]*pane[V]
	starts []int64 // of the panes, ascending

	closedTo int64  // all windows that close at this watermark or before are closed
	after    string // the last row shown by a Close that has not ended; else empty

	closed []int64 // windows closed since the last commit that Pebble may hold rows of
	gone   []int64 // windows closed and committed, still in Pebble
}

// A pane is one open window.
type pane[V any] struct {
	rows   map[string]*Row[V] // by row key
	keys   arena
	cold   bool      // Pebble may hold rows that the map does not
	sorted []*Row[V] // the rows of the map, once the window is being closed
}

// Progress is how far a store's closings had come at a commit.
type Progress struct {
	Closed int64  // everything that closes at this watermark or before is closed
	After  string // where a closing at a later watermark was interrupted; empty if it was not
}

// Time is the start of the window, or the end of the session, that a closing was
// interrupted at, in ms since the epoch; false if it was not.
func (p Progress) Time() (int64, bool) {
	if len(p.After) < 8 {
		return 0, false
	}
	return fromSortable(p.After), true
}

// OpenWindow opens the store on a partition whose rows are restored, and drops
// what was closed by then.
func OpenWindow[V any](p *Partition, log Changelog, value serde.Serde[V], w window.Fixed, at Progress) (*Window[V], error) {
	wb, err := newWriteback(p, log, value)
	if err != nil {
		return nil, err
	}
	s := &Window[V]{Writeback: wb, fixed: w, panes: map[int64]*pane[V]{}, closedTo: at.Closed, after: at.After}
	s.hooks = hooks[V]{
		start:    fromSortable[string],
		deadline: func(r *Row[V]) int64 { return w.ClosesAt(r.Start) },
		drop:     s.writeDrops,
	}
	return s, s.findPanes()
}

// findPanes looks for the windows in Pebble. Those closed before are dropped.
func (s *Window[V]) findPanes() error {
	lo := ""
	for {
		start, found := int64(0), false
		err := s.part.scan(rowKind, lo, "", func(k, _ []byte) (bool, error) {
			if len(k) < 8 {
				return false, s.part.fail("open", fmt.Errorf("row key %q names no window", k))
			}
			start, found = fromSortable(k), true
			return false, nil
		})
		if err != nil {
			return err
		}
		if !found {
			break
		}
		if s.Closed(start) {
			s.gone = append(s.gone, start)
		} else {
			s.open(start).cold = true
		}
		if lo = after(start); lo == "" {
			break
		}
	}
	if n := len(s.starts); n > 0 {
		// Which offsets hold these rows is not known: all of the log so far may.
		s.segments.open(0, s.fixed.ClosesAt(s.starts[n-1]))
	}
	if len(s.gone) == 0 {
		return nil
	}
	b := s.part.newBatch()
	if err := s.writeDrops(b, len(s.gone)); err != nil {
		return b.discard(err)
	}
	return b.commit(nil)
}

// Closed reports whether the window that begins at start has been closed here.
func (s *Window[V]) Closed(start int64) bool {
	return s.fixed.ClosesAt(start) <= s.closedTo || s.after != "" && start < fromSortable(s.after)
}

// Upsert returns the row of a window and key, a new one with a zero value if
// there is none, and whether there was one. Touch or, if there was none, Forget
// must then be called. The window must not be closed.
func (s *Window[V]) Upsert(start int64, key []byte) (*Row[V], bool, error) {
	p := s.panes[start]
	if p == nil {
		p = s.open(start)
	}
	s.scratch = append(appendSortable(s.scratch[:0], start), key...)
	if r, ok := p.rows[string(s.scratch)]; ok {
		return r, true, nil
	}
	k := p.keys.copy(s.scratch)
	if p.cold {
		var r *Row[V]
		found, err := s.part.get(k, func(v []byte) (err error) {
			r, err = s.load(k, v)
			return err
		})
		if err != nil {
			return nil, false, err
		}
		if found {
			s.insert(p, r)
			return r, true, nil
		}
	}
	r := &Row[V]{Start: start, key: k, size: rowSize(k, nil)}
	s.insert(p, r)
	return r, false, nil
}

// Key returns the encoded key of the row, without its window.
func (s *Window[V]) Key(r *Row[V]) string { return r.key[8:] }

// StartOf returns the start of the window of the row.
func (s *Window[V]) StartOf(r *Row[V]) int64 { return r.Start }

// Forget takes back a row that Upsert made and that was not touched.
func (s *Window[V]) Forget(r *Row[V]) {
	if p := s.panes[r.Start]; p != nil {
		delete(p.rows, r.key)
		s.resize(r, 0)
	}
}

func (s *Window[V]) insert(p *pane[V], r *Row[V]) {
	p.rows[r.key] = r
	s.bytes += int64(r.size)
}

func (s *Window[V]) open(start int64) *pane[V] {
	p := &pane[V]{rows: map[string]*Row[V]{}}
	s.panes[start] = p
	i := sort.Search(len(s.starts), func(i int) bool { return s.starts[i] > start })
	s.starts = slices.Insert(s.starts, i, start)
	return p
}

// after is the end of the range of a window's rows, empty for that of all rows.
func after(start int64) string {
	if start == math.MaxInt64 {
		return ""
	}
	return sortable(start + 1)
}

// Committed is Writeback.Committed.
func (s *Window[V]) Committed(commit int64, pos Position) {
	s.gone = append(s.gone, s.closed...)
	s.closed = s.closed[:0]
	s.Writeback.Committed(commit, pos)
}

// writeDrops drops up to n closed windows from Pebble.
func (s *Window[V]) writeDrops(b *batch, n int) error {
	n = min(n, len(s.gone))
	for _, start := range s.gone[:n] {
		if err := b.deleteRange(rowKind, sortable(start), after(start)); err != nil {
			return err
		}
	}
	s.gone = append(s.gone[:0], s.gone[n:]...)
	return nil
}

// Evict drops rows that Pebble holds from the cache, the oldest windows first,
// until n bytes are free, and returns the bytes freed. A window that is being
// closed is left alone.
func (s *Window[V]) Evict(n int64) int64 {
	var freed int64
	for _, start := range s.starts {
		p := s.panes[start]
		if p.sorted != nil {
			continue
		}
		for k, r := range p.rows {
			if freed >= n {
				break
			}
			if r.status.has(written) && r.status&dirty == 0 && r.since == 0 {
				delete(p.rows, k)
				p.cold = true
				freed += int64(r.size)
			}
		}
		if len(p.rows) == 0 {
			p.keys = arena{}
		}
		if freed >= n {
			break
		}
	}
	s.bytes -= freed
	return freed
}

// All calls f with every row in the order of window and key until it returns
// false. It sees the changes of the open transaction.
func (s *Window[V]) All(f func(key string, r *Row[V]) bool) error {
	var cached []*Row[V]
	for _, p := range s.panes {
		for _, r := range p.rows {
			cached = append(cached, r)
		}
	}
	slices.SortFunc(cached, byKey[V])
	return s.merge("", "", cached, func(r *Row[V]) (bool, error) {
		if _, open := s.panes[r.Start]; !open || r.key <= s.after {
			return true, nil // closed, and about to be dropped
		}
		return f(s.Key(r), r), nil
	})
}
