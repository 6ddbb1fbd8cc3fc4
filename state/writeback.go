package state

import (
	"fmt"
	"math"
	"sort"

	"github.com/weirstream/weir/serde"
)

// A Changelog takes the changes of one store and partition, in order.
type Changelog interface {
	// Append adds a change at an event time in ms. It copies what it is given. A
	// nil value deletes the key.
	Append(key string, value []byte, time int64)
}

// Writeback is the part that all stores share: which rows are dirty, which are
// committed and wait to be written, and up to which changelog position all
// have been. After an error the store must be thrown away.
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

	flushed   int64 // the commit of the last barrier
	committed int64 // the last commit
	closing   bool  // rows were closed since the last barrier

	hooks    hooks[V]
	segments segments
}

// hooks are what a kind of store adds. Each may be nil.
type hooks[V any] struct {
	start    func(rowKey string) int64         // the row's Start
	deadline func(*Row[V]) int64               // the watermark at which the row is closed for good
	barrier  func(commit int64)                // called by Flush before anything else
	wrote    func(*batch, *Row[V]) error       // a row goes to Pebble: adds what belongs beside it
	gone     func(*Row[V])                     // a deletion goes to Pebble: the row can be forgotten
	drop     func(*batch, int) error           // adds up to n deletions of what was closed
	edge     func() string                     // how far closings have come, kept with the commit
	passed   func(b *batch, edge string) error // everything up to a commit with that edge is in Pebble
}

// An end is where a commit left the changelog, and the closings.
type end struct {
	commit int64
	at     Position
	edge   string
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

// Unwritten is the number of committed changes that Pebble does not hold yet.
func (w *Writeback[V]) Unwritten() int { return w.waiting.len() }

// Flush is the barrier of a commit: every dirty row is shown to visit, if there
// is one, in the order in which the rows were first changed, and then appended
// to the changelog. visit must not touch rows of this store. Commit numbers are
// positive and rise; within a commit Flush may be called more than once.
// Nothing may be closed between the last Flush of a commit and Committed.
func (w *Writeback[V]) Flush(commit int64, visit func(*Row[V]) error) error {
	if commit <= w.committed || commit < w.flushed {
		return w.part.fail("flush", fmt.Errorf("commit %d follows %d", commit, max(w.committed, w.flushed)))
	}
	w.flushed, w.closing = commit, false
	if w.hooks.barrier != nil {
		w.hooks.barrier(commit)
	}
	for _, r := range w.dirty {
		r.status &^= dirty
		if r.status.has(dead) {
			continue
		}
		if visit != nil && !(w.session && r.isMarker()) {
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
		if value, err = w.encode(r); err != nil {
			return err
		}
	}
	w.log.Append(r.key, value, r.Time)
	w.resize(r, rowSize(r.key, value))
	w.wait(commit, r)
	if w.hooks.deadline != nil {
		w.segments.flushed(w.hooks.deadline(r))
	}
	return nil
}

// wait queues a row to be written to Pebble. One that waits already keeps its
// place: the position must not pass the first of its changes.
func (w *Writeback[V]) wait(commit int64, r *Row[V]) {
	if r.since == 0 {
		r.since = commit
		w.waiting.push(r)
	}
}

func (w *Writeback[V]) resize(r *Row[V], size int32) {
	w.bytes += int64(size - r.size)
	r.size = size
}

// encode returns the row's bytes, which are valid until the next call.
func (w *Writeback[V]) encode(r *Row[V]) ([]byte, error) {
	value, err := appendRow(w.scratch[:0], r, w.session, w.serde)
	if err != nil {
		return nil, w.part.fail(fmt.Sprintf("encode the value of key %q", r.key), err)
	}
	w.scratch = value
	return value, nil
}

// Committed tells that the commit is final and left the changelog at pos.
func (w *Writeback[V]) Committed(commit int64, pos Position) {
	pos.Offset = max(pos.Offset, w.ends[len(w.ends)-1].at.Offset) // less if nothing was appended
	e := end{commit: commit, at: pos}
	if w.hooks.edge != nil {
		e.edge = w.hooks.edge()
	}
	w.part.letGo()
	w.committed = commit
	w.ends = append(w.ends, e)
	w.segments.committed(pos.Offset)
}

// WriteBehind writes up to limit changes to Pebble that have waited since
// commit due or longer, with the position that then holds, and returns how
// many. It must be called when nothing has happened since the last commit, so
// that every value in the cache is a committed one.
func (w *Writeback[V]) WriteBehind(due int64, limit int) (int, error) {
	if len(w.dirty) > 0 || w.closing || w.flushed > w.committed {
		return 0, w.part.fail("write behind", fmt.Errorf("changes since commit %d are not committed", w.committed))
	}
	b := w.part.newBatch()
	n, err := w.fill(b, due, limit)
	if err != nil {
		return 0, b.discard(err)
	}
	pos, moved := w.position()
	if moved && w.hooks.passed != nil {
		if err := w.hooks.passed(b, w.ends[0].edge); err != nil {
			return 0, b.discard(err)
		}
	}
	if b.b.Empty() && !moved {
		return n, b.b.Close()
	}
	return n, b.commit(&pos)
}

// fill adds the changes to write to a batch.
func (w *Writeback[V]) fill(b *batch, due int64, limit int) (n int, err error) {
	for w.waiting.len() > 0 && n < limit && err == nil {
		r := w.waiting.peek()
		if r.since > due && !r.status.has(dead) {
			break
		}
		w.waiting.pop()
		r.since = 0
		switch {
		case !r.status.has(dead):
			n++
			err = w.write(b, r)
		case w.session && r.status.has(written): // of a window store, whole windows are dropped
			n++
			err = b.delete(rowKind, r.key)
		}
	}
	if err == nil && w.hooks.drop != nil {
		err = w.hooks.drop(b, limit)
	}
	return n, err
}

func (w *Writeback[V]) write(b *batch, r *Row[V]) error {
	if r.Deleted {
		// Also when this process never put it: the row may be from before a restart.
		if w.hooks.gone != nil {
			w.hooks.gone(r)
		}
		w.resize(r, 0)
		return b.delete(rowKind, r.key)
	}
	value, err := w.encode(r)
	if err != nil {
		return err
	}
	r.status |= written
	if w.hooks.wrote != nil {
		if err := w.hooks.wrote(b, r); err != nil {
			return err
		}
	}
	return b.set(rowKind, r.key, value)
}

// position is the changelog position up to which everything is in Pebble, and
// whether it is another than the one recorded last.
func (w *Writeback[V]) position() (Position, bool) {
	before := int64(math.MaxInt64)
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

// NeededFrom is the changelog offset before which no record matters any more
// once everything is closed that closes at the watermark or before. The
// watermark must be one at which, as of the last commit, it is.
func (w *Writeback[V]) NeededFrom(watermark int64) int64 { return w.segments.neededFrom(watermark) }

// load decodes a row of Pebble into a new row.
func (w *Writeback[V]) load(key string, value []byte) (*Row[V], error) {
	r := &Row[V]{key: key, status: written, size: rowSize(key, value)}
	if w.hooks.start != nil {
		r.Start = w.hooks.start(key)
	}
	if err := decodeRow(value, r, w.serde); err != nil {
		return nil, w.part.fail(fmt.Sprintf("decode the row of key %q", key), err)
	}
	return r, nil
}
