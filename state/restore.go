package state

import (
	"errors"
	"fmt"
)

// A Change is one record of a changelog. A nil Value deletes the key.
type Change struct {
	Key   string
	Value []byte
}

// Restore writes changes of the changelog, in its order, into the partition,
// with the position after the last of them. Changes that were written before
// may be written again: the end result is the same. sessions says that the
// rows are a session store's, which has hints beside them.
func (p *Partition) Restore(changes []Change, pos Position, sessions bool) error {
	b := p.newBatch()
	for _, c := range changes {
		if c.Value == nil {
			if err := b.delete(rowKind, c.Key); err != nil {
				return b.discard(err)
			}
			continue
		}
		if sessions {
			last, err := rowLast(c.Key, c.Value)
			if err != nil {
				return p.fail(fmt.Sprintf("restore key %q", c.Key), b.discard(err))
			}
			if err := b.set(indexKind, orderKey(last, c.Key), nil); err != nil {
				return b.discard(err)
			}
		}
		if err := b.set(rowKind, c.Key, c.Value); err != nil {
			return b.discard(err)
		}
	}
	return b.commit(&pos)
}

// rowLast reads when a session ended from its row's key and bytes.
func rowLast(key string, row []byte) (int64, error) {
	if _, err := splitSession(key); err != nil {
		return 0, err
	}
	d := decoder{b: row}
	if flags := d.begin(); flags&hasLast == 0 {
		return 0, errors.Join(d.err, errors.New("row is not a session's"))
	}
	d.varint() // the time
	last := fromSortable(key[len(key)-8:]) + d.varint()
	return last, d.err
}
