package state

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// A Session is a store of the open sessions of every key. Rows are laid out
// key ‖ first, so that the sessions of a key stand together.
//
// Beside each row, Pebble has a hint laid out last ‖ row key, which leads to it
// when it is due. A hint may be stale: its session may have grown or gone.
type Session[V any] struct {
	Writeback[V]
	window window.Session

	keys map[string]*Sessions[V]
	due  dueHeap[V] // of all sessions in the cache
	dead int        // about how many entries of it are of none
	cold bool       // Pebble may hold sessions that the cache does not

	hinted bool   // there may be hints that lead to sessions outside the cache
	hints  string // none of those is less

	closedTo int64
	base     string // order keys below it were closed by closings that have ended
	after    string // order key of the last session shown by a Close that has not ended; else empty

	aside   []*Row[V] // markers that Close has passed since the last session, at the end of a bounded run
	closed  []*Row[V] // sessions closed since the last barrier that Pebble may hold
	fresh   int       // hints written since hints were last trimmed
	enough  int       // how many of them are worth a trim
	left    bool      // Pebble may hold hints
	trimmed string    // hints below it are gone
}

// Sessions are the open sessions of one key, in the order of their first
// records. Rows must not be changed but by their owner, who must ask Of for the
// sessions anew for each record.
type Sessions[V any] struct {
	Rows []*Row[V]

	key     string    // uvarint(len) ‖ key
	marker  *Row[V]   // says when the last session closed, for as long as that matters; nil if it does not
	removed []*Row[V] // taken away, but still to be deleted from Pebble
	cached  bool
}

// OpenSession opens the store on a partition whose rows are restored, and drops
// what was closed by then.
func OpenSession[V any](p *Partition, log Changelog, value serde.Serde[V], w window.Session, at Progress) (*Session[V], error) {
	wb, err := newWriteback(p, log, value)
	if err != nil {
		return nil, err
	}
	s := &Session[V]{Writeback: wb, window: w, keys: map[string]*Sessions[V]{}, closedTo: at.Closed, after: at.After, enough: trimAfter}
	s.base = openFrom(w, s.closedTo)
	s.session = true
	s.hooks = hooks[V]{
		start:    func(k string) int64 { return fromSortable(k[max(0, len(k)-8):]) },
		deadline: func(r *Row[V]) int64 { return w.ClosesAt(r.Last) },
		barrier:  s.queueClosed,
		wrote:    s.writeHint,
		gone:     s.deleted,
		edge:     s.edge,
		passed:   s.trim,
	}
	if _, s.cold, err = p.last(rowKind); err != nil {
		return nil, err
	}
	return s, s.dropClosed()
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
	if !s.cold {
		return g, nil
	}
	// Lengths come first: no other key's rows begin with this key.
	err := s.part.scan(rowKind, g.key, g.key+"\xff\xff\xff\xff\xff\xff\xff\xff\xff", func(k, v []byte) (bool, error) {
		if _, err := splitSession(string(k)); err != nil {
			return false, s.part.fail("read sessions", err)
		}
		r, err := s.load(string(k), v)
		switch {
		case err != nil || s.isClosed(orderKey(r.Last, r.key)): // the latter is about to be deleted
		case r.isMarker():
			s.keep(g)
			g.marker = r
			s.bytes += int64(r.size)
			s.enter(r)
		default:
			s.add(g, len(g.Rows), r)
		}
		return true, err
	})
	return g, err
}

// keep puts a key into the cache.
func (s *Session[V]) keep(g *Sessions[V]) {
	if !g.cached {
		g.cached = true
		s.keys[g.key] = g
		s.bytes += groupSize(g.key)
	}
}

// add puts a row into the cache.
func (s *Session[V]) add(g *Sessions[V], i int, r *Row[V]) {
	s.keep(g)
	g.Rows = slices.Insert(g.Rows, i, r)
	s.bytes += int64(r.size)
	s.enter(r)
}

// leave takes a key without sessions out of the cache.
func (s *Session[V]) leave(g *Sessions[V]) {
	if g.cached && len(g.Rows) == 0 && len(g.removed) == 0 && g.marker == nil {
		g.cached = false
		delete(s.keys, g.key)
		s.bytes -= groupSize(g.key)
	}
}

func groupSize(key string) int64 { return int64(rowOverhead + len(key)) }

// Insert adds a session of the key with a zero value. Touch must then be called.
func (s *Session[V]) Insert(g *Sessions[V], first, last int64) *Row[V] {
	k := string(appendSortable([]byte(g.key), first))
	r := &Row[V]{Start: first, Last: last, Shown: Unshown, key: k, size: rowSize(k, nil)}
	i, _ := slices.BinarySearchFunc(g.Rows, first, func(r *Row[V], t int64) int { return cmp.Compare(r.Start, t) })
	s.add(g, i, r)
	return r
}

// Remove takes a session away, as merging does. A row that the changelog or
// someone downstream knows is deleted there.
func (s *Session[V]) Remove(g *Sessions[V], r *Row[V]) {
	i := slices.Index(g.Rows, r)
	g.Rows = slices.Delete(g.Rows, i, i+1)
	s.bury()
	if r.since == 0 && !r.status.has(written) {
		r.status |= dead
		s.resize(r, 0)
		s.leave(g)
		return
	}
	var zero V
	r.Value, r.Deleted = zero, true
	g.removed = append(g.removed, r)
	s.Touch(r)
}

// deleted is called when a removed row's deletion goes to Pebble.
func (s *Session[V]) deleted(r *Row[V]) {
	g := s.keys[r.key[:len(r.key)-8]]
	i := slices.Index(g.removed, r)
	g.removed = slices.Delete(g.removed, i, i+1)
	s.leave(g)
}

// Key returns the encoded key of a row, without its times.
func (s *Session[V]) Key(r *Row[V]) string {
	key, _ := splitSession(r.key)
	return key
}

// splitSession returns the key in a session's row key.
func splitSession(rowKey string) (string, error) {
	size, n := binary.Uvarint([]byte(rowKey[:min(len(rowKey), binary.MaxVarintLen64)]))
	if n <= 0 || len(rowKey) < n+8 || uint64(len(rowKey)-n-8) != size {
		return "", fmt.Errorf("row key %q names no session", rowKey)
	}
	return rowKey[n : len(rowKey)-8], nil
}

// Evict drops keys from the cache all of whose sessions Pebble holds, until n
// bytes are free, and returns the bytes freed.
func (s *Session[V]) Evict(n int64) int64 {
	var freed int64
	for _, g := range s.keys {
		if freed >= n {
			break
		}
		if !g.isWritten() {
			continue
		}
		before := s.bytes
		for _, r := range g.Rows {
			s.evict(r)
		}
		if g.marker != nil {
			s.evict(g.marker)
		}
		g.Rows, g.marker = nil, nil
		s.leave(g)
		freed += before - s.bytes
	}
	return freed
}

// isWritten reports whether Pebble holds the key's sessions as they are.
func (g *Sessions[V]) isWritten() bool {
	waits := func(r *Row[V]) bool { return r.status&(dirty|written) != written || r.since != 0 }
	return len(g.removed) == 0 && !slices.ContainsFunc(g.Rows, waits) && (g.marker == nil || !waits(g.marker))
}

// evict drops a row that Pebble holds. Its hint leads back to it.
func (s *Session[V]) evict(r *Row[V]) {
	if order := orderKey(r.Last, r.key); !s.hinted || order < s.hints {
		s.hinted, s.hints = true, order
	}
	var zero V
	r.Value, r.Headers = zero, nil // the heap may keep the row for long
	r.status |= dead
	s.resize(r, 0)
	s.bury()
	s.cold = true
}

// All calls f with every session in the order of its row's key until it returns
// false. It sees the changes of the open transaction.
func (s *Session[V]) All(f func(key string, r *Row[V]) bool) error {
	var cached []*Row[V]
	for _, g := range s.keys {
		cached = append(append(cached, g.Rows...), g.removed...)
		if g.marker != nil {
			cached = append(cached, g.marker)
		}
	}
	slices.SortFunc(cached, byKey[V])
	return s.merge("", "", cached, func(r *Row[V]) (bool, error) {
		if r.isMarker() || s.isClosed(orderKey(r.Last, r.key)) {
			return true, nil // no session, or about to be deleted
		}
		return f(s.Key(r), r), nil
	})
}
