package verify

import (
	"encoding/binary"
	"fmt"
)

// A Row is a row of a store, as changelogs and databases hold it, taken apart.
type Row struct {
	Key        []byte // as the key's serde encoded it
	Start      int64  // of a window, or a session's first time
	Last       int64  // a session's last time
	Time       int64
	HasHeaders bool
	Marker     bool   // not a session, but until when sessions of the key are closed
	Value      []byte // as the value's serde encoded it
}

// DecodeRow takes a row of a kind of store apart. It is written from the
// description of the format, not from the code that writes it.
func DecodeRow(kind, key string, row []byte) (Row, error) {
	r := Row{Key: []byte(key)}
	bad := fmt.Errorf("row %q of a %s store: %q is not a row", key, kind, row)
	switch kind {
	case "window": // start, then the key
		if len(key) < 8 {
			return r, bad
		}
		r.Start, r.Key = sortable(key[:8]), []byte(key[8:])
	case "session": // the key's length, the key, first
		size, n := binary.Uvarint([]byte(key))
		if n <= 0 || uint64(len(key)) != uint64(n)+size+8 {
			return r, bad
		}
		r.Key, r.Start = []byte(key[n:n+int(size)]), sortable(key[n+int(size):])
	}
	if len(row) < 2 || row[0] != 1 {
		return r, bad
	}
	flags, b := row[1], row[2:]
	varint := func() int64 {
		v, n := binary.Varint(b)
		b = b[max(n, 0):]
		return v
	}
	r.Time = varint()
	if flags&1 != 0 {
		r.Last = r.Start + varint()
	}
	if flags&4 != 0 {
		varint() // the end that was last told downstream
	}
	r.Marker = flags&8 != 0
	if r.HasHeaders = flags&2 != 0; r.HasHeaders {
		return r, fmt.Errorf("row %q has headers, which audits do not read", key)
	}
	r.Value = b
	return r, nil
}

func sortable(s string) int64 { return int64(binary.BigEndian.Uint64([]byte(s)) ^ 1<<63) }
