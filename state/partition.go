package state

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// A Partition is the range of the database that one store owns for one
// partition number. Its lease is held by one task at a time; after Release
// nothing can be written through it any more.
type Partition struct {
	db     *DB
	prefix []byte
	name   string
	number int32

	mu   sync.RWMutex // held for reading by each write and get, so that Release waits for it
	held bool

	reader *pebble.Iterator // of get; nil if there is none
	seek   []byte           // scratch
}

// The kinds of keys within a partition's range.
const (
	rowKind      = 'r' // rows: the store's own key
	indexKind    = 'i' // hints by time
	positionKind = 'p' // the changelog position
)

// Name is the store's name.
func (p *Partition) Name() string { return p.name }

// Number is the partition's number.
func (p *Partition) Number() int32 { return p.number }

// Release gives the lease up. What is under way ends first.
func (p *Partition) Release() {
	p.mu.Lock()
	held := p.held
	p.held = false
	p.closeReader()
	p.mu.Unlock()
	if held {
		p.db.release(p.prefix)
	}
}

func (p *Partition) key(kind byte, k string) []byte {
	b := make([]byte, 0, len(p.prefix)+1+len(k))
	b = append(append(b, p.prefix...), kind)
	return append(b, k...)
}

// end is the upper bound of a range of keys of one kind; "" for their end.
func (p *Partition) end(kind byte, hi string) []byte {
	if hi == "" {
		return p.key(kind+1, "")
	}
	return p.key(kind, hi)
}

// Position returns the recorded changelog position, and whether there is one.
func (p *Partition) Position() (Position, bool, error) {
	v, closer, err := p.db.pebble.Get(p.key(positionKind, ""))
	if errors.Is(err, pebble.ErrNotFound) {
		return Position{}, false, nil
	} else if err != nil {
		return Position{}, false, p.fail("read the position", err)
	}
	defer closer.Close()
	pos, err := decodePosition(v)
	return pos, err == nil, err
}

// scan calls f with the keys (without prefix) and values of one kind from lo
// (included) to hi (excluded; "" for the end), in order, until it returns
// false. f must not keep them.
func (p *Partition) scan(kind byte, lo, hi string, f func(k, v []byte) (bool, error)) error {
	it, err := p.db.pebble.NewIter(&pebble.IterOptions{LowerBound: p.key(kind, lo), UpperBound: p.end(kind, hi)})
	if err != nil {
		return p.fail("read rows", err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(p.fail("read rows", err), it.Close())
		}
		more, err := f(it.Key()[len(p.prefix)+1:], v)
		if err != nil || !more {
			return errors.Join(err, it.Close())
		}
	}
	if err := it.Close(); err != nil {
		return p.fail("read rows", err)
	}
	return nil
}

// last returns the greatest key of a kind, and whether there is any.
func (p *Partition) last(kind byte) (string, bool, error) {
	it, err := p.db.pebble.NewIter(&pebble.IterOptions{LowerBound: p.key(kind, ""), UpperBound: p.key(kind+1, "")})
	if err != nil {
		return "", false, p.fail("read rows", err)
	}
	k, ok := "", it.Last()
	if ok {
		k = string(it.Key()[len(p.prefix)+1:])
	}
	return k, ok, it.Close()
}

// Rows calls f with every row's key and bytes in order, for audits.
func (p *Partition) Rows(f func(key, row []byte) error) error {
	return p.scan(rowKind, "", "", func(k, v []byte) (bool, error) { return true, f(k, v) })
}

// Clear removes every row and the position, in one batch.
func (p *Partition) Clear() error {
	b := p.newBatch()
	b.clear()
	return b.commit(nil)
}

func (p *Partition) fail(what string, err error) error {
	return fmt.Errorf("store %s, partition %d: cannot %s: %w", p.name, p.number, what, err)
}

// A batch collects writes to one partition. Without a WAL, batches survive a
// crash as a prefix of the order in which they were committed.
type batch struct {
	p   *Partition
	b   *pebble.Batch
	key []byte
}

func (p *Partition) newBatch() *batch { return &batch{p: p, b: p.db.pebble.NewBatch()} }

func (b *batch) at(kind byte, k string) []byte {
	b.key = append(append(append(b.key[:0], b.p.prefix...), kind), k...)
	return b.key
}

// Pebble's batches return errors only for keys or values beyond 4 GiB.
func (b *batch) set(kind byte, k string, v []byte) error { return b.b.Set(b.at(kind, k), v, nil) }
func (b *batch) delete(kind byte, k string) error        { return b.b.Delete(b.at(kind, k), nil) }

// deleteRange deletes the keys of a kind from lo (included) to hi (excluded; ""
// for the end).
func (b *batch) deleteRange(kind byte, lo, hi string) error {
	return b.b.DeleteRange(b.p.key(kind, lo), b.p.end(kind, hi), nil)
}

func (b *batch) clear() error {
	return b.b.DeleteRange(b.p.prefix, append(append([]byte{}, b.p.prefix...), 0xff), nil)
}

// discard closes the batch unused because of err, which it returns.
func (b *batch) discard(err error) error { return errors.Join(err, b.b.Close()) }

// commit applies the batch, with the position if there is one, while the lease
// is held.
func (b *batch) commit(pos *Position) error {
	defer b.b.Close() // has nothing to report once the batch is committed, or dropped
	if pos != nil {
		if err := b.set(positionKind, "", pos.encode()); err != nil {
			return err
		}
	}
	b.p.mu.RLock()
	defer b.p.mu.RUnlock()
	if !b.p.held {
		return b.p.fail("write", errors.New("its lease was given up"))
	}
	if err := b.b.Commit(pebble.NoSync); err != nil {
		return b.p.fail("write", err)
	}
	b.p.closeReader() // it does not see what was written
	return nil
}
