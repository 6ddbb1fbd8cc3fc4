package state

import (
	"slices"

	"github.com/weirstream/weir/serde"
)

// A KeyValue is a store of one row per key.
type KeyValue[V any] struct {
	Writeback[V]
	rows map[string]*Row[V]
	ring []*Row[V] // of the clock that chooses what to evict
	hand int
	dead int  // rows in the ring that are not in the cache any more
	cold bool // Pebble may hold rows that the cache does not
}

// OpenKeyValue opens the store on a partition whose rows are restored.
func OpenKeyValue[V any](p *Partition, log Changelog, value serde.Serde[V]) (*KeyValue[V], error) {
	w, err := newWriteback(p, log, value)
	if err != nil {
		return nil, err
	}
	s := &KeyValue[V]{Writeback: w, rows: map[string]*Row[V]{}}
	s.hooks.gone = s.forget
	_, s.cold, err = p.last(rowKind)
	return s, err
}

// Get returns the key's row, nil if it has none. The row may be changed; Touch
// must then be called.
func (s *KeyValue[V]) Get(key []byte) (*Row[V], error) {
	r, err := s.find(key)
	if err != nil || r == nil || r.Deleted {
		return nil, err
	}
	return r, nil
}

// Upsert returns the key's row, one with a zero value if it has none, and
// whether it had one. Touch or, if it had none, Undo must then be called.
func (s *KeyValue[V]) Upsert(key []byte) (*Row[V], bool, error) {
	r, err := s.find(key)
	if err != nil {
		return nil, false, err
	}
	if r == nil {
		r = &Row[V]{key: string(key)}
		s.insert(r)
		return r, false, nil
	}
	existed := !r.Deleted
	r.Deleted = false
	return r, existed, nil
}

// Undo takes back an Upsert that found no row and was not followed by Touch.
func (s *KeyValue[V]) Undo(r *Row[V]) {
	var zero V
	r.Value, r.Deleted = zero, true
	if r.since == 0 && !r.status.has(dirty) { // there is no deletion that it stands for
		s.forget(r)
		s.resize(r, 0)
	}
}

// Delete removes the key's row and returns whether it had one. The row is kept
// as a deleted one until Pebble knows.
func (s *KeyValue[V]) Delete(key []byte) (*Row[V], error) {
	r, err := s.find(key)
	if err != nil || r == nil || r.Deleted {
		return nil, err
	}
	var zero V
	r.Value, r.Deleted = zero, true
	s.Touch(r)
	return r, nil
}

// Key returns the row's encoded key.
func (s *KeyValue[V]) Key(r *Row[V]) string { return r.key }

func (s *KeyValue[V]) find(key []byte) (*Row[V], error) {
	if r, ok := s.rows[string(key)]; ok {
		r.status |= recent
		return r, nil
	}
	if !s.cold {
		return nil, nil
	}
	var r *Row[V]
	k := string(key)
	_, err := s.part.get(k, func(v []byte) (err error) {
		r, err = s.load(k, v)
		return err
	})
	if r != nil {
		s.insert(r)
	}
	return r, err
}

func (s *KeyValue[V]) insert(r *Row[V]) {
	if r.size == 0 {
		r.size = int32(rowOverhead + len(r.key))
	}
	r.status |= recent
	s.rows[r.key] = r
	s.ring = append(s.ring, r)
	s.bytes += int64(r.size)
}

// forget drops a deleted row that Pebble has been told of. It leaves the ring
// when half of that is such rows, or when the clock comes by.
func (s *KeyValue[V]) forget(r *Row[V]) {
	delete(s.rows, r.key)
	r.status |= dead
	if s.dead++; s.dead > 1024 && s.dead > len(s.ring)/2 {
		s.ring = slices.DeleteFunc(s.ring, func(r *Row[V]) bool { return r.status.has(dead) })
		s.hand, s.dead = 0, 0
	}
}

// Evict drops rows that Pebble holds from the cache until n bytes are free or
// none is left to drop, and returns the bytes freed.
func (s *KeyValue[V]) Evict(n int64) int64 {
	var freed int64
	for passes := 2 * len(s.ring); passes > 0 && freed < n && len(s.ring) > 0; passes-- {
		s.hand %= len(s.ring)
		r := s.ring[s.hand]
		switch {
		case r.status.has(dead):
			s.unring()
			s.dead--
		case r.status.has(dirty) || r.since != 0 || !r.status.has(written):
			s.hand++
		case r.status.has(recent):
			r.status &^= recent
			s.hand++
		default:
			delete(s.rows, r.key)
			freed += int64(r.size)
			s.cold = true
			s.unring()
		}
	}
	s.bytes -= freed
	return freed
}

func (s *KeyValue[V]) unring() {
	last := len(s.ring) - 1
	s.ring[s.hand] = s.ring[last]
	s.ring[last] = nil
	s.ring = s.ring[:last]
}

// All calls f with every row in the order of its encoded keys until it returns
// false. It sees the changes of the open transaction.
func (s *KeyValue[V]) All(f func(key string, r *Row[V]) bool) error {
	cached := make([]*Row[V], 0, len(s.rows))
	for _, r := range s.rows {
		cached = append(cached, r)
	}
	slices.SortFunc(cached, byKey[V])
	return s.merge("", "", cached, func(r *Row[V]) (bool, error) { return f(r.key, r), nil })
}
