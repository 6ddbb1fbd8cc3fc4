package client

import "github.com/twmb/franz-go/pkg/kgo"

// An arena holds the bytes of one interval's records. Its chunks are kept for
// the next.
type arena struct {
	chunks [][]byte
	at     int // the chunk in use
	off    int
	used   int64
}

const (
	chunkBytes = 256 << 10
	keepChunks = 64 // at most so many are kept
)

// copy returns a copy of b that lives until reset; nil stays nil.
func (a *arena) copy(b []byte) []byte {
	if b == nil {
		return nil
	}
	a.used += int64(len(b))
	if len(b) > chunkBytes/4 {
		return append([]byte{}, b...)
	}
	if len(a.chunks) == 0 || a.off+len(b) > chunkBytes {
		if len(a.chunks) > 0 {
			a.at++
		}
		a.off = 0
		if a.at == len(a.chunks) {
			a.chunks = append(a.chunks, make([]byte, chunkBytes))
		}
	}
	dst := a.chunks[a.at][a.off : a.off+len(b) : a.off+len(b)]
	a.off += len(b)
	copy(dst, b)
	return dst
}

func (a *arena) reset() {
	if len(a.chunks) > keepChunks {
		clear(a.chunks[keepChunks:])
		a.chunks = a.chunks[:keepChunks]
	}
	a.at, a.off, a.used = 0, 0, 0
}

// A slab hands out records, to be used again after reset.
type slab struct {
	chunks [][]kgo.Record
	n      int
}

const slabRecords = 1024

func (s *slab) next() *kgo.Record {
	i, j := s.n/slabRecords, s.n%slabRecords
	if i == len(s.chunks) {
		s.chunks = append(s.chunks, make([]kgo.Record, slabRecords))
	}
	s.n++
	return &s.chunks[i][j]
}

func (s *slab) reset() {
	if len(s.chunks) > keepChunks {
		clear(s.chunks[keepChunks:])
		s.chunks = s.chunks[:keepChunks]
	}
	s.n = 0
}

// A headerSlab hands out slices of headers, to be used again after reset.
type headerSlab struct {
	chunks [][]kgo.RecordHeader
	at     int
	off    int
}

const slabHeaders = 4096

func (s *headerSlab) take(n int) []kgo.RecordHeader {
	if n > slabHeaders/4 {
		return make([]kgo.RecordHeader, n)
	}
	if len(s.chunks) == 0 || s.off+n > slabHeaders {
		if len(s.chunks) > 0 {
			s.at++
		}
		s.off = 0
		if s.at == len(s.chunks) {
			s.chunks = append(s.chunks, make([]kgo.RecordHeader, slabHeaders))
		}
	}
	h := s.chunks[s.at][s.off : s.off+n : s.off+n]
	s.off += n
	return h
}

func (s *headerSlab) reset() {
	if len(s.chunks) > keepChunks {
		clear(s.chunks[keepChunks:])
		s.chunks = s.chunks[:keepChunks]
	}
	s.at, s.off = 0, 0
}
