package state

import "unsafe"

// An arena holds strings that are dropped together, many to an allocation.
type arena struct{ free []byte }

const arenaChunk = 16 << 10

func (a *arena) copy(b []byte) string {
	if len(b) > len(a.free) {
		a.free = make([]byte, max(arenaChunk, len(b)))
	}
	n := copy(a.free, b)
	s := unsafe.String(unsafe.SliceData(a.free), n)
	a.free = a.free[n:]
	return s
}
