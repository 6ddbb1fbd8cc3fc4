package state

import (
	"container/heap"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// A Session is a store of the open sessions of every key. Rows are laid out
// key ‖ first, so that the sessions of a key stand together; hints laid out
// last ‖ row key lead to those that are due. A hint may be stale: its session
// may have grown or gone.
type Session[V any] struct {
	Writeback[V]
	window window.Session

	keys map[string]*Sessions[V]
	due  dueHeap[V]
	cold bool // Pebble may hold sessions that the cache does not

	hints    string // no hint in Pebble is less; "" if none is known to be there
	hinted   bool   // there may be hints
	closedTo int64
	after    string // order key of the last session shown by a Close that has not ended

	closed, old, gone []*Row[V] // closed rows to be deleted: of this interval, at the barrier, committed
	scanned           string    // hints up to here have been followed; deleted once committed
	oldScanned        string
	goneScanned       string
}

// Sessions are the open sessions of one key, in the order of their first
// records. Rows must not be changed but by their owner.
type Sessions[V any] struct {
	Rows []*Row[V]
	key  string // uvarint(len) ‖ key
}

// OpenSession opens the store on a partition whose rows are restored, and drops
// what was closed by then.
func OpenSession[V any](p *Partition, log Changelog, value serde.Serde[V], w window.Session, at Progress) (*Session[V], error) {
	wb, err := newWriteback(p, log, value)
	if err != nil {
		return nil, err
	}
	s := &Session[V]{Writeback: wb, window: w, keys: map[string]*Sessions[V]{}, closedTo: at.Closed, after: at.After}
	s.session = true
	s.Writeback.hint = s.writeHint
	s.Writeback.drop = s.writeDrops
	s.Writeback.deadline = func(r *Row[V]) int64 { return w.ClosesAt(r.Last) }
	if _, s.cold, err = p.last(); err != nil {
		return nil, err
	}
	return s, s.dropClosed()
}

// dropClosed deletes the sessions in Pebble that were closed before, and finds
// the first hint and the latest deadline of the rest.
func (s *Session[V]) dropClosed() error {
	b := s.part.newBatch()
	until := int64(math.MinInt64)
	err := s.part.scan(indexKind, "", "", func(k, _ []byte) (bool, error) {
		order := string(k)
		last := fromSortable(k)
		until = max(until, s.window.ClosesAt(last))
		if !s.orderClosed(last, order) {
			if !s.hinted {
				s.hinted, s.hints = true, order
			}
			return true, nil
		}
		if err := b.delete(indexKind, order); err != nil {
			return false, err
		}
		_, err := s.part.get(order[8:], func(v []byte) error {
			now, err := rowLast(order[8:], v)
			if err == nil && s.orderClosed(now, orderKey(now, order[8:])) {
				err = b.delete(rowKind, order[8:])
			}
			return err
		})
		return true, err
	})
	if err != nil {
		return err
	}
	if until != math.MinInt64 {
		s.segments.open(0, until)
	}
	return b.commit(nil)
}

func (s *Session[V]) orderClosed(last int64, order string) bool {
	return s.window.ClosesAt(last) <= s.closedTo || s.after != "" && order <= s.after
}

// Of returns the open sessions of a key.
func (s *Session[V]) Of(key []byte) (*Sessions[V], error) {
	s.scratch = append(binary.AppendUvarint(s.scratch[:0], uint64(len(key))), key...)
	return s.of(s.scratch)
}

func (s *Session[V]) of(prefixed []byte) (*Sessions[V], error) {
	if g, ok := s.keys[string(prefixed)]; ok {
		return g, nil
	}
	g := &Sessions[V]{key: string(prefixed)}
	s.keys[g.key] = g
	s.bytes += int64(rowOverhead + len(g.key))
	if !s.cold {
		return g, nil
	}
	err := s.part.scan(rowKind, g.key, g.key+"\xff\xff\xff\xff\xff\xff\xff\xff\xff", func(k, v []byte) (bool, error) {
		if len(k) != len(g.key)+8 {
			return true, nil
		}
		r, err := s.load(string(k), fromSortable(k[len(g.key):]), v)
		if err != nil {
			return false, err
		}
		if s.orderClosed(r.Last, orderKey(r.Last, r.key)) {
			return true, nil // closed already, and about to be deleted
		}
		g.Rows = append(g.Rows, r)
		s.bytes += int64(r.size)
		s.wait(r)
		return true, nil
	})
	return g, err
}

// Insert adds a session of the key with a zero value.
func (s *Session[V]) Insert(g *Sessions[V], first, last int64) *Row[V] {
	k := string(appendSortable([]byte(g.key), first))
	r := &Row[V]{Start: first, Last: last, Shown: Unshown, key: k, size: int32(rowOverhead + len(k))}
	i, _ := slices.BinarySearchFunc(g.Rows, first, func(r *Row[V], t int64) int { return compare(r.Start, t) })
	g.Rows = slices.Insert(g.Rows, i, r)
	s.bytes += int64(r.size)
	s.wait(r)
	return r
}

// Remove takes a session away, as merging does. A row that the changelog or
// someone downstream knows is deleted there.
func (s *Session[V]) Remove(g *Sessions[V], r *Row[V]) {
	i := slices.Index(g.Rows, r)
	g.Rows = slices.Delete(g.Rows, i, i+1)
	if r.since == 0 && !r.status.has(written) {
		r.status |= dropped
		s.bytes -= int64(r.size)
		return
	}
	r.Deleted = true
	s.Touch(r)
}

// Key returns the encoded key of a row, without its times.
func (s *Session[V]) Key(r *Row[V]) string {
	_, n := binary.Uvarint([]byte(r.key[:min(len(r.key), binary.MaxVarintLen64)]))
	return r.key[n : len(r.key)-8]
}

// ClosedAt reports whether a session that ended at last is closed here.
func (s *Session[V]) ClosedAt(last int64) bool { return s.window.ClosesAt(last) <= s.closedTo }

// Deadline is a watermark before which no session closes; MaxInt64 if none is
// open.
func (s *Session[V]) Deadline() int64 {
	d := int64(math.MaxInt64)
	if len(s.due) > 0 {
		d = s.window.ClosesAt(s.due[0].last)
	}
	if s.hinted {
		d = min(d, s.window.ClosesAt(fromSortable([]byte(s.hints[:8]))))
	}
	return d
}

// Close shows visit every session that closes at the watermark or before, in
// the order of their ends and keys, and forgets it. It stops after limit
// sessions and then returns true: Close must be called again, before any
// change.
func (s *Session[V]) Close(watermark int64, limit int, visit func(*Row[V]) error) (bool, error) {
	latest := s.closedTo
	for {
		if err := s.followHints(watermark, limit); err != nil {
			return false, err
		}
		for len(s.due) > 0 && s.window.ClosesAt(s.due[0].last) <= watermark {
			top := s.due[0]
			order := orderKey(top.last, top.row.key)
			if s.hinted && order >= s.hints {
				break // hints before it are still to be followed
			}
			if limit == 0 && s.live(top) {
				return true, nil
			}
			heap.Pop(&s.due)
			if !s.live(top) {
				s.waitAgain(top.row)
				continue
			}
			limit--
			s.after = order
			latest = max(latest, s.window.ClosesAt(top.last))
			s.forget(top.row)
			if err := visit(top.row); err != nil {
				return false, err
			}
		}
		if s.Deadline() > watermark {
			break
		}
		if limit == 0 {
			return true, nil
		}
	}
	if s.after = ""; watermark != math.MaxInt64 {
		latest = watermark // at the end of a bounded run, time stands where the last session closed
	}
	s.closedTo = max(s.closedTo, latest)
	return false, nil
}

// live tells an entry of the heap whose session is still as it says from one
// whose session has grown or gone since.
func (s *Session[V]) live(d due[V]) bool {
	return !d.row.Deleted && !d.row.status.has(dropped) && d.row.Last == d.last
}

// waitAgain enters a session that has grown since it was entered.
func (s *Session[V]) waitAgain(r *Row[V]) {
	if !r.Deleted && !r.status.has(dropped) {
		s.wait(r)
	}
}

// forget takes a closed session out of the cache. Its row is deleted from
// Pebble once that is committed.
func (s *Session[V]) forget(r *Row[V]) {
	r.status |= dropped
	if r.status.has(written) {
		s.closed = append(s.closed, r)
	}
	k := r.key[:len(r.key)-8]
	if g := s.keys[k]; g != nil {
		if i := slices.Index(g.Rows, r); i >= 0 {
			g.Rows = slices.Delete(g.Rows, i, i+1)
		}
		if len(g.Rows) == 0 {
			delete(s.keys, k)
			s.bytes -= int64(rowOverhead + len(k))
		}
	}
	s.bytes -= int64(r.size)
	r.size = 0
}

// followHints loads the keys of up to limit hints that are due.
func (s *Session[V]) followHints(watermark int64, limit int) error {
	if !s.hinted {
		return nil
	}
	var found []string
	next, more := "", false
	err := s.part.scan(indexKind, s.hints, "", func(k, _ []byte) (bool, error) {
		if s.window.ClosesAt(fromSortable(k)) > watermark || len(found) > limit {
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
		rowKey := order[8:]
		if _, err := s.of([]byte(rowKey[:len(rowKey)-8])); err != nil {
			return err
		}
		s.scanned = order
	}
	s.hinted, s.hints = more, next
	return nil
}

// wait enters a session among those that will be due.
func (s *Session[V]) wait(r *Row[V]) { heap.Push(&s.due, due[V]{r.Last, r}) }

// Progress is how far closing has come.
func (s *Session[V]) Progress() Progress { return Progress{Closed: s.closedTo, After: s.after} }

// Flush is Writeback.Flush.
func (s *Session[V]) Flush(commit int64, visit func(*Row[V]) error) error {
	s.old = append(s.old, s.closed...)
	s.closed = s.closed[:0]
	s.oldScanned = max(s.oldScanned, s.scanned)
	return s.Writeback.Flush(commit, visit)
}

// Committed is Writeback.Committed.
func (s *Session[V]) Committed(commit int64, pos Position) {
	s.gone = append(s.gone, s.old...)
	s.old = s.old[:0]
	s.goneScanned = max(s.goneScanned, s.oldScanned)
	s.Writeback.Committed(commit, pos)
}

func (s *Session[V]) writeHint(b *batch, r *Row[V]) {
	order := orderKey(r.Last, r.key)
	_ = b.set(indexKind, order, nil)
	if !s.hinted || order < s.hints {
		s.hinted, s.hints = true, order
	}
}

func (s *Session[V]) writeDrops(b *batch, n int) error {
	n = min(n, len(s.gone))
	for _, r := range s.gone[:n] {
		if err := b.delete(rowKind, r.key); err != nil {
			return err
		}
	}
	s.gone = append(s.gone[:0], s.gone[n:]...)
	if s.goneScanned == "" || len(s.gone) > 0 {
		return nil // hints go after the rows that they lead to
	}
	hi := s.goneScanned + "\x00"
	if s.hinted && s.hints < hi {
		hi = s.hints
	}
	s.goneScanned, s.oldScanned, s.scanned = "", "", ""
	return b.deleteRange(indexKind, "", hi)
}

// Evict drops keys from the cache all of whose sessions Pebble holds, until n
// bytes are free, and returns the bytes freed.
func (s *Session[V]) Evict(n int64) int64 {
	var freed int64
	for k, g := range s.keys {
		if freed >= n {
			break
		}
		if slices.ContainsFunc(g.Rows, func(r *Row[V]) bool {
			return r.status.has(dirty) || r.since != 0 || !r.status.has(written)
		}) {
			continue
		}
		for _, r := range g.Rows {
			freed += int64(r.size)
			r.status |= dropped // for the heap; its hint leads back to it
			s.rehint(r)
		}
		freed += int64(rowOverhead + len(k))
		delete(s.keys, k)
		s.cold = true
	}
	s.bytes -= freed
	return freed
}

// rehint makes sure that the hint of a row in Pebble will be followed.
func (s *Session[V]) rehint(r *Row[V]) {
	if order := orderKey(r.Last, r.key); !s.hinted || order < s.hints {
		s.hinted, s.hints = true, order
	}
}

// All calls f with every session in the order of key and first record until it
// returns false. It sees the changes of the open transaction.
func (s *Session[V]) All(f func(key string, r *Row[V]) bool) error {
	var cached []*Row[V]
	for _, g := range s.keys {
		cached = append(cached, g.Rows...)
	}
	for i := range s.dirty { // removed ones hide what Pebble still has
		if s.dirty[i].Deleted {
			cached = append(cached, s.dirty[i])
		}
	}
	slices.SortFunc(cached, byKey[V])
	return s.merge("", "", cached, func(r *Row[V]) (bool, error) {
		r.Start = fromSortable([]byte(r.key[len(r.key)-8:]))
		if r.status.has(dropped) || s.orderClosed(r.Last, orderKey(r.Last, r.key)) {
			return true, nil
		}
		return f(s.Key(r), r), nil
	})
}

// orderKey orders sessions by their ends, then by row key.
func orderKey(last int64, rowKey string) string { return sortable(last) + rowKey }

// rowLast reads when a session ended from the bytes of its row.
func rowLast(rowKey string, row []byte) (int64, error) {
	d := decoder{b: row}
	d.take(2)
	d.varint()
	last := fromSortable([]byte(rowKey[len(rowKey)-8:])) + d.varint()
	return last, d.err
}

type due[V any] struct {
	last int64
	row  *Row[V]
}

type dueHeap[V any] []due[V]

func (h dueHeap[V]) Len() int { return len(h) }
func (h dueHeap[V]) Less(i, j int) bool {
	if h[i].last != h[j].last {
		return h[i].last < h[j].last
	}
	return strings.Compare(h[i].row.key, h[j].row.key) < 0
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

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
