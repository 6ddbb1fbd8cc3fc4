package state

import (
	"encoding/binary"
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

	closed []int64 // windows closed since the last barrier
	gone   []int64 // windows closed and committed, still in Pebble
	old    []int64 // windows closed at the barrier under way
}

// A pane is one open window.
type pane[V any] struct {
	rows  map[string]*Row[V] // by row key
	keys  arena
	cold  bool // Pebble may hold rows that the map does not
	bytes int64
}

// Progress is how far a store's closings had come at a commit.
type Progress struct {
	Closed int64  // everything that closes at this watermark or before is closed
	After  string // where a closing at a later watermark was interrupted; empty if it was not
}

// OpenWindow opens the store on a partition whose rows are restored, and drops
// what was closed by then.
func OpenWindow[V any](p *Partition, log Changelog, value serde.Serde[V], w window.Fixed, at Progress) (*Window[V], error) {
	wb, err := newWriteback(p, log, value)
	if err != nil {
		return nil, err
	}
	s := &Window[V]{Writeback: wb, fixed: w, panes: map[int64]*pane[V]{}, closedTo: at.Closed, after: at.After}
	s.Writeback.drop = s.writeDrops
	s.Writeback.deadline = func(r *Row[V]) int64 { return w.ClosesAt(r.Start) }
	return s, s.findPanes()
}

// findPanes looks for the windows in Pebble. Those closed before are dropped.
func (s *Window[V]) findPanes() error {
	lo := ""
	for {
		start, found := int64(0), false
		err := s.part.scan(rowKind, lo, "", func(k, _ []byte) (bool, error) {
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
		if start == math.MaxInt64 {
			break
		}
		lo = sortable(start + 1)
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
		return err
	}
	return b.commit(nil)
}

// Closed reports whether the window that begins at start has been closed here.
func (s *Window[V]) Closed(start int64) bool {
	return s.fixed.ClosesAt(start) <= s.closedTo || s.after != "" && sortable(start) < s.after[:8]
}

// Upsert returns the row of a window and key, a new one with a zero value if
// there is none, and whether there was one. The window must not be closed.
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
			r, err = s.load(k, start, v)
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
	r := &Row[V]{Start: start, key: k, size: int32(rowOverhead + len(k))}
	s.insert(p, r)
	return r, false, nil
}

// Key returns the encoded key of the row, without its window.
func (s *Window[V]) Key(r *Row[V]) string { return r.key[8:] }

// StartOf returns the start of the window of the row.
func (s *Window[V]) StartOf(r *Row[V]) int64 {
	return int64(binary.BigEndian.Uint64([]byte(r.key[:8])) ^ 1<<63)
}

// Forget takes back a row that Upsert made and that was not touched.
func (s *Window[V]) Forget(r *Row[V]) {
	if p := s.panes[r.Start]; p != nil {
		delete(p.rows, r.key)
		s.bytes -= int64(r.size)
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

// Deadline is the watermark at which the next window closes; MaxInt64 if none
// is open.
func (s *Window[V]) Deadline() int64 {
	if len(s.starts) == 0 {
		return math.MaxInt64
	}
	return s.fixed.ClosesAt(s.starts[0])
}

// Close shows visit the rows of every window that closes at the watermark or
// before, in the order of their ends and keys, and forgets them. It stops after
// limit rows and then returns true: Close must be called again, before any
// Upsert.
func (s *Window[V]) Close(watermark int64, limit int, visit func(*Row[V]) error) (bool, error) {
	for len(s.starts) > 0 && s.fixed.ClosesAt(s.starts[0]) <= watermark {
		start := s.starts[0]
		n, err := s.closePane(start, s.panes[start], limit, visit)
		if err != nil {
			return false, err
		}
		if limit -= n; limit <= 0 && s.Deadline() <= watermark {
			return true, nil
		}
	}
	if watermark != math.MaxInt64 { // at the end of a bounded run, time stands where the last window closed
		s.closedTo = max(s.closedTo, watermark)
	}
	s.after = ""
	return false, nil
}

// closePane shows up to limit rows of a window, from where the last call
// stopped, and drops the window if that was all.
func (s *Window[V]) closePane(start int64, p *pane[V], limit int, visit func(*Row[V]) error) (int, error) {
	cached := make([]*Row[V], 0, len(p.rows))
	for _, r := range p.rows {
		if !r.status.has(dropped) {
			cached = append(cached, r)
		}
	}
	slices.SortFunc(cached, byKey[V])
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
		r.Start = start
		r.status |= dropped
		s.after = r.key
		return true, visit(r)
	}
	var err error
	if p.cold {
		err = s.merge(lo, after(start), cached, show)
	} else {
		for more := true; more && err == nil && len(cached) > 0; cached = cached[1:] {
			if cached[0].key >= lo {
				more, err = show(cached[0])
			}
		}
	}
	if err == nil && !rest {
		s.dropPane(start, p)
	}
	return n, err
}

// after is the end of the range of a window's rows.
func after(start int64) string {
	if start == math.MaxInt64 {
		return ""
	}
	return sortable(start + 1)
}

func (s *Window[V]) dropPane(start int64, p *pane[V]) {
	wasWritten := p.cold
	for _, r := range p.rows {
		wasWritten = wasWritten || r.status.has(written)
		r.status |= dropped
		s.bytes -= int64(r.size)
		r.size = 0
	}
	delete(s.panes, start)
	s.starts = s.starts[1:]
	s.after = ""
	s.closedTo = max(s.closedTo, s.fixed.ClosesAt(start))
	if wasWritten {
		s.closed = append(s.closed, start)
	}
}

// Progress is how far closing has come.
func (s *Window[V]) Progress() Progress { return Progress{Closed: s.closedTo, After: s.after} }

// Flush is Writeback.Flush.
func (s *Window[V]) Flush(commit int64, visit func(*Row[V]) error) error {
	s.old = append(s.old, s.closed...)
	s.closed = s.closed[:0]
	return s.Writeback.Flush(commit, visit)
}

// Committed is Writeback.Committed.
func (s *Window[V]) Committed(commit int64, pos Position) {
	s.gone = append(s.gone, s.old...)
	s.old = s.old[:0]
	s.Writeback.Committed(commit, pos)
}

func (s *Window[V]) writeDrops(b *batch, n int) error {
	n = min(n, len(s.gone))
	for _, start := range s.gone[:n] {
		hi := after(start)
		if hi == "" {
			hi = sortable(math.MaxInt64) + "\xff"
		}
		if err := b.deleteRange(rowKind, sortable(start), hi); err != nil {
			return err
		}
	}
	s.gone = append(s.gone[:0], s.gone[n:]...)
	return nil
}

// Evict drops rows that Pebble holds from the cache, the oldest windows first,
// until n bytes are free, and returns the bytes freed.
func (s *Window[V]) Evict(n int64) int64 {
	var freed int64
	for _, start := range s.starts {
		p := s.panes[start]
		for k, r := range p.rows {
			if freed >= n {
				break
			}
			if !r.status.has(dirty) && r.since == 0 && r.status.has(written) {
				delete(p.rows, k)
				p.cold = true
				freed += int64(r.size)
			}
		}
		if len(p.rows) == 0 {
			p.keys = arena{}
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
		r.Start = s.StartOf(r)
		if _, open := s.panes[r.Start]; !open || r.status.has(dropped) {
			return true, nil
		}
		return f(s.Key(r), r), nil
	})
}
