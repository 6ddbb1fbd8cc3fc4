package state

import "encoding/binary"

// sortable encodes a time so that the order of bytes is the order of times.
func sortable(ms int64) string {
	var b [8]byte
	return string(appendSortable(b[:0], ms))
}

func appendSortable(dst []byte, ms int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(ms)^1<<63)
}

// fromSortable decodes the time that s begins with. A shorter s, which no store
// writes, is a time with zeros behind.
func fromSortable[S string | []byte](s S) int64 {
	var b [8]byte
	copy(b[:], s)
	return int64(binary.BigEndian.Uint64(b[:]) ^ 1<<63)
}
