package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/vmihailenco/msgpack/v5"
)

// A Descriptor says what a store holds. It is recorded beside the rows, so that
// a topology that no longer fits them is refused instead of misreading them.
type Descriptor struct {
	Name   string // the operator's name
	Kind   string // key-value, window or session
	Window string // of window and session stores: the window, without its grace
	Key    string // the encoding of keys
	Value  string // the encoding of values
}

// Mismatch says how d differs from what was recorded, empty if it fits.
func (d Descriptor) Mismatch(recorded Descriptor) string {
	var diffs []string
	diff := func(what, is, was string) {
		if is != was {
			diffs = append(diffs, fmt.Sprintf("its %s is %q here and %q there", what, is, was))
		}
	}
	diff("kind", d.Kind, recorded.Kind)
	diff("window", d.Window, recorded.Window)
	diff("key encoding", d.Key, recorded.Key)
	diff("value encoding", d.Value, recorded.Value)
	return strings.Join(diffs, "; ")
}

type storeMeta struct {
	ID         uint16
	Descriptor Descriptor
}

// storeKey is where the database records a store's descriptor.
func storeKey(name string) []byte { return append([]byte("s"), name...) }

func readStores(db *pebble.DB) (map[string]storeMeta, error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte("s"), UpperBound: []byte("t")})
	if err != nil {
		return nil, err
	}
	stores := map[string]storeMeta{}
	for it.First(); it.Valid(); it.Next() {
		var m storeMeta
		if err := msgpack.Unmarshal(it.Value(), &m); err != nil {
			return nil, errors.Join(fmt.Errorf("description of store %s: %w", it.Key()[1:], err), it.Close())
		}
		stores[m.Descriptor.Name] = m
	}
	return stores, it.Close()
}

// storeID returns the number that stands for the store in keys, and records a
// new store's description. The caller holds d.mu.
func (d *DB) storeID(desc Descriptor) (uint16, error) {
	if m, ok := d.stores[desc.Name]; ok {
		if diff := desc.Mismatch(m.Descriptor); diff != "" {
			return 0, fmt.Errorf("store %s does not fit the state directory: %s; "+
				"give the operator another name, or reset the application", desc.Name, diff)
		}
		return m.ID, nil
	}
	m := storeMeta{ID: uint16(len(d.stores) + 1), Descriptor: desc}
	v, err := msgpack.Marshal(&m)
	if err != nil {
		return 0, err
	}
	if err := d.pebble.Set(storeKey(desc.Name), v, pebble.NoSync); err != nil {
		return 0, fmt.Errorf("store %s: %w", desc.Name, err)
	}
	d.stores[desc.Name] = m
	return m.ID, nil
}

// A Position is how far along its changelog partition the rows in Pebble are.
type Position struct {
	Offset int64 // every change before it has been written
	Wall   int64 // ms since the epoch: when the commit it stands for was made
}

func (p Position) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.Offset))
	return binary.BigEndian.AppendUint64(b, uint64(p.Wall))
}

func decodePosition(b []byte) (Position, error) {
	if len(b) != 16 {
		return Position{}, fmt.Errorf("recorded position has %d bytes, want 16", len(b))
	}
	return Position{Offset: int64(binary.BigEndian.Uint64(b)), Wall: int64(binary.BigEndian.Uint64(b[8:]))}, nil
}
