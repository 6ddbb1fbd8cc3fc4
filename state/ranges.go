package state

import (
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// A Range says that the database holds rows of a store's partition.
type Range struct {
	Store     string
	Partition int32
	Position  Position
	Leased    bool // a task uses it now
}

// Ranges lists the partitions of stores that the database has a position of.
func (d *DB) Ranges() ([]Range, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []Range
	for name, m := range d.stores {
		found, err := d.rangesOf(name, m.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// rangesOf skips from partition to partition of a store. The caller holds d.mu.
func (d *DB) rangesOf(name string, id uint16) (list []Range, err error) {
	upper := binary.BigEndian.AppendUint16([]byte{'d'}, id)
	upper = append(upper, 0xff, 0xff, 0xff, 0xff, 0xff)
	it, err := d.pebble.NewIter(&pebble.IterOptions{LowerBound: rangePrefix(id, 0), UpperBound: upper})
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; {
		prefix := append([]byte{}, it.Key()[:len(rangePrefix(id, 0))]...)
		number := int32(binary.BigEndian.Uint32(prefix[3:]))
		p := Partition{db: d, prefix: prefix, name: name, number: number}
		pos, has, err := p.Position()
		if err != nil {
			return nil, errors.Join(err, it.Close())
		}
		if has {
			list = append(list, Range{Store: name, Partition: number, Position: pos, Leased: d.leases[string(prefix)] != nil})
		}
		ok = it.SeekGE(rangePrefix(id, number+1))
	}
	return list, it.Close()
}

// Discard deletes the rows of a partition that no task uses. It fails with
// ErrLeased if one does.
func (d *DB) Discard(r Range) error {
	d.mu.Lock()
	m, ok := d.stores[r.Store]
	d.mu.Unlock()
	if !ok {
		return nil
	}
	p, err := d.Lease(m.Descriptor, r.Partition)
	if err != nil {
		return err
	}
	defer p.Release()
	return p.Clear()
}
