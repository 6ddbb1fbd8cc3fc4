package state

import (
	"fmt"
	"sort"

	"github.com/weirstream/weir/serde"
)

// A Changelog takes the changes of one store and partition, in order. It copies
// what it is given. A nil value deletes the key.
type Changelog interface {
	Append(key string, value []byte, time int64)
}

// Writeback is the part that all stores share: which rows are dirty, which are
// committed and wait to be written, and up to which changelog position all
// have been.
type Writeback[V any] struct {
	part    *Partition
	log     Changelog
	serde   serde.Serde[V]
	session bool

	dirty   []*Row[V]
	waiting queue[V]
	ends    []end // of commits, oldest first; the first is the present position's
	scratch []byte
	bytes   int64

	gone func(*Row[V])           // a deleted row has been written: it can be forgotten
	hint func(*batch, *Row[V])   // adds what a store writes beside a row; may be nil
	drop func(*batch, int) error // writes up to n deletions of what was closed; may be nil

	segments segments
	deadline func(*Row[V]) int64 // when a row is closed for good; nil if never
}

// An end is where a commit left the changelog.
type end struct {
	commit int64
	at     Position
}

func newWriteback[V any](p *Partition, log Changelog, s serde.Serde[V]) (Writeback[V], error) {
	pos, _, err := p.Position()
	w := Writeback[V]{part: p, log: log, serde: s, ends: []end{{at: pos}}}
	w.segments.from = pos.Offset
	return w, err
}

// Touch marks the row as changed since the last barrier.
func (w *Writeback[V]) Touch(r *Row[V]) {
	if !r.status.has(dirty) {
		r.status |= dirty
		w.dirty = append(w.dirty, r)
	}
}

// IsDirty reports whether a row changed since the last barrier.
func (w *Writeback[V]) IsDirty(r *Row[V]) bool { return r.status.has(dirty) }

// Dirty is the number of rows that changed since the last barrier.
func (w *Writeback[V]) Dirty() int { return len(w.dirty) }

// Bytes is about the memory that the store's cache takes.
func (w *Writeback[V]) Bytes() int64 { return w.bytes }

// Unwritten is the number of committed rows that Pebble does not hold yet.
func (w *Writeback[V]) Unwritten() int { return w.waiting.len() }

// Flush is the barrier of a commit: every dirty row is shown to visit, if there
// is one, in the order in which the rows were first changed, and then appended
// to the changelog. commit numbers rise.
func (w *Writeback[V]) Flush(commit int64, visit func(*Row[V]) error) error {
	for i := 0; i < len(w.dirty); i++ { // visit may not touch rows of this store
		r := w.dirty[i]
		r.status &^= dirty
		if r.status.has(dropped) {
			continue
		}
		if visit != nil {
			if err := visit(r); err != nil {
				return err
			}
		}
		if err := w.flush(commit, r); err != nil {
			return err
		}
	}
	clear(w.dirty)
	w.dirty = w.dirty[:0]
	return nil
}

func (w *Writeback[V]) flush(commit int64, r *Row[V]) error {
	var value []byte
	if !r.Deleted {
		var err error
		if value, err = appendRow(w.scratch[:0], r, w.session, w.serde); err != nil {
			return fmt.Errorf("store %s, partition %d: cannot encode the value of key %q: %w", w.part.name, w.part.number, r.key, err)
		}
		w.scratch = value
	}
	w.log.Append(r.key, value, r.Time)
	size := int32(rowOverhead + len(r.key) + 2*len(value))
	w.bytes += int64(size - r.size)
	r.size = size
	if r.since == 0 {
		r.since = commit
		w.waiting.push(r)
	}
	if w.deadline != nil {
		w.segments.flushed(w.deadline(r))
	}
	return nil
}

// Committed tells that the commit is final and left the changelog at pos.
func (w *Writeback[V]) Committed(commit int64, pos Position) {
	if last := w.ends[len(w.ends)-1].at; pos.Offset <= last.Offset {
		pos.Offset = last.Offset // nothing was appended
	}
	w.ends = append(w.ends, end{commit, pos})
	w.segments.committed(pos.Offset)
}

// WriteBehind writes up to limit rows to Pebble that have waited since commit
// due or longer, with the position that then holds, and returns how many. It
// must be called when nothing is dirty and no transaction is open, so that
// every value in the cache is a committed one.
func (w *Writeback[V]) WriteBehind(due int64, limit int) (int, error) {
	b := w.part.newBatch()
	n := 0
	for n < limit && w.waiting.len() > 0 {
		r := w.waiting.peek()
		if r.since > due && !r.status.has(dropped) {
			break
		}
		w.waiting.pop()
		r.since = 0
		if r.status.has(dropped) {
			continue
		}
		if err := w.write(b, r); err != nil {
			return n, err
		}
		n++
	}
	if w.drop != nil {
		if err := w.drop(b, limit); err != nil {
			return n, err
		}
	}
	pos, moved := w.position()
	if b.b.Empty() && !moved {
		return n, b.b.Close()
	}
	return n, b.commit(&pos)
}

func (w *Writeback[V]) write(b *batch, r *Row[V]) error {
	if r.Deleted {
		// Also when this process never put it: the row may be from before a restart.
		if w.gone != nil {
			w.gone(r)
		}
		w.bytes -= int64(r.size)
		r.size = 0
		return b.delete(rowKind, r.key)
	}
	value, err := appendRow(w.scratch[:0], r, w.session, w.serde)
	if err != nil {
		return fmt.Errorf("store %s, partition %d: cannot encode the value of key %q: %w", w.part.name, w.part.number, r.key, err)
	}
	w.scratch = value
	r.status |= written
	if w.hint != nil {
		w.hint(b, r)
	}
	return b.set(rowKind, r.key, value)
}

// position is the changelog position up to which everything is in Pebble, and
// whether it is another than the one recorded last.
func (w *Writeback[V]) position() (Position, bool) {
	before := int64(1<<63 - 1)
	if w.waiting.len() > 0 {
		before = w.waiting.peek().since
	}
	n := sort.Search(len(w.ends), func(i int) bool { return w.ends[i].commit >= before })
	if n <= 1 { // not past the commit whose end is recorded already
		return w.ends[0].at, false
	}
	w.ends = append(w.ends[:0], w.ends[n-1:]...)
	return w.ends[0].at, true
}

// NeededFrom is the changelog offset before which no record matters any more,
// everything up to the watermark being closed.
func (w *Writeback[V]) NeededFrom(watermark int64) int64 { return w.segments.neededFrom(watermark) }

// load decodes a row of Pebble into a new row.
func (w *Writeback[V]) load(key string, start int64, value []byte) (*Row[V], error) {
	r := &Row[V]{Start: start, key: key, status: written}
	if err := decodeRow(value, r, w.serde); err != nil {
		return nil, fmt.Errorf("store %s, partition %d: cannot decode the row of key %q: %w", w.part.name, w.part.number, key, err)
	}
	r.size = int32(rowOverhead + len(key) + 2*len(value))
	return r, nil
}

// merge calls f with the rows whose keys are in [lo, hi), in their order: those
// given, which are sorted and may be deleted ones, and those that only Pebble
// has. The latter are made for the call.
func (w *Writeback[V]) merge(lo, hi string, cached []*Row[V], f func(*Row[V]) (bool, error)) error {
	next := sort.Search(len(cached), func(i int) bool { return cached[i].key >= lo })
	stopped := false
	call := func(r *Row[V]) (bool, error) {
		if r.Deleted {
			return true, nil
		}
		more, err := f(r)
		stopped = !more
		return more, err
	}
	err := w.part.scan(rowKind, lo, hi, func(k, v []byte) (bool, error) {
		for next < len(cached) && cached[next].key < string(k) {
			next++
			if more, err := call(cached[next-1]); !more || err != nil {
				return false, err
			}
		}
		if next < len(cached) && cached[next].key == string(k) {
			next++
			return call(cached[next-1])
		}
		start := int64(0)
		if w.session {
			start = fromSortable(k[len(k)-8:])
		}
		r, err := w.load(string(k), start, v)
		if err != nil {
			return false, err
		}
		return call(r)
	})
	for err == nil && !stopped && next < len(cached) && (hi == "" || cached[next].key < hi) {
		next++
		_, err = call(cached[next-1])
	}
	return err
}

// A queue is a first-in, first-out queue of rows.
type queue[V any] struct {
	rows []*Row[V]
	head int
}

func (q *queue[V]) len() int       { return len(q.rows) - q.head }
func (q *queue[V]) peek() *Row[V]  { return q.rows[q.head] }
func (q *queue[V]) push(r *Row[V]) { q.rows = append(q.rows, r) }

func (q *queue[V]) pop() {
	q.rows[q.head] = nil
	q.head++
	if q.head >= 1024 && q.head*2 >= len(q.rows) {
		n := copy(q.rows, q.rows[q.head:])
		clear(q.rows[n:])
		q.rows, q.head = q.rows[:n], 0
	}
}
