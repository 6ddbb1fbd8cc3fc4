package state

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
				return err
			}
			continue
		}
		if sessions {
			last, err := rowLast(c.Key, c.Value)
			if err != nil {
				return p.fail("restore key "+c.Key, err)
			}
			if err := b.set(indexKind, orderKey(last, c.Key), nil); err != nil {
				return err
			}
		}
		if err := b.set(rowKind, c.Key, c.Value); err != nil {
			return err
		}
	}
	return b.commit(&pos)
}
