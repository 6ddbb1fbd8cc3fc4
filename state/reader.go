package state

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// get calls f with the row's bytes, which it must not keep, if there is one.
//
// It asks an iterator that is kept until something is written or committed:
// unlike a Get, that may use the filters of the largest level, where most rows
// are, so that asking for a key that is not there costs a tenth. It must not
// live longer, since it holds on to all files and memtables of its time.
func (p *Partition) get(k string, f func([]byte) error) (bool, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	p.seek = append(append(append(p.seek[:0], p.prefix...), rowKind), k...)
	if !p.held {
		return p.getOnce(f)
	}
	if p.reader == nil {
		var err error
		p.reader, err = p.db.pebble.NewIter(&pebble.IterOptions{
			LowerBound: p.key(rowKind, ""), UpperBound: p.end(rowKind, ""), UseL6Filters: true,
		})
		if err != nil {
			return false, p.fail("read a row", err)
		}
	}
	if !p.reader.SeekPrefixGE(p.seek) {
		if err := p.reader.Error(); err != nil {
			return false, p.fail("read a row", err)
		}
		return false, nil
	}
	v, err := p.reader.ValueAndErr()
	if err != nil {
		return false, p.fail("read a row", err)
	}
	return true, f(v)
}

// getOnce is get where nobody would close the iterator.
func (p *Partition) getOnce(f func([]byte) error) (bool, error) {
	v, closer, err := p.db.pebble.Get(p.seek)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, p.fail("read a row", err)
	}
	defer closer.Close()
	return true, f(v)
}

// letGo closes what get has kept.
func (p *Partition) letGo() {
	p.mu.RLock()
	defer p.mu.RUnlock()
	p.closeReader()
}

// closeReader is letGo for callers that hold the mutex. Errors of the iterator
// have been returned by get.
func (p *Partition) closeReader() {
	if p.reader != nil {
		_ = p.reader.Close()
		p.reader = nil
	}
}
