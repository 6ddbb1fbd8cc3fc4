package serde

import (
	"errors"
	"io"
	"math"
)

// A scannedReader reads bytes that a scanner has passed, for the MessagePack decoder.
//
// Where the decoder expects a map and finds an extension, it takes the extension's body for the map, and lengths there were not
// scanned. The decoder reads the first byte of each value by ReadByte and the bodies of extensions by Read, so the reader refuses
// ReadByte inside a body.
type scannedReader struct {
	src  []byte
	off  int
	exts []extent // bodies not yet passed
	next int      // where the first of exts begins
}

var errInsideExt = errors.New("an extension where another value belongs (decoders of extensions must read the body with ReadFull)")

func (r *scannedReader) reset(src []byte, exts []extent) {
	r.src, r.off, r.exts = src, 0, exts
	r.setNext()
}

func (r *scannedReader) setNext() {
	r.next = math.MaxInt
	if len(r.exts) > 0 {
		r.next = r.exts[0].from
	}
}

// Read implements io.Reader.
func (r *scannedReader) Read(p []byte) (int, error) {
	if r.off >= len(r.src) && len(p) > 0 {
		return 0, io.EOF
	}
	n := copy(p, r.src[r.off:])
	r.off += n
	return n, nil
}

// ReadByte implements io.ByteReader.
func (r *scannedReader) ReadByte() (byte, error) {
	if r.off >= len(r.src) {
		return 0, io.EOF
	}
	if r.off >= r.next {
		for len(r.exts) > 0 && r.off >= r.exts[0].to {
			r.exts = r.exts[1:]
		}
		if r.setNext(); r.off >= r.next {
			return 0, errInsideExt
		}
	}
	r.off++
	return r.src[r.off-1], nil
}

// UnreadByte implements io.ByteScanner.
func (r *scannedReader) UnreadByte() error {
	if r.off == 0 {
		return io.ErrNoProgress
	}
	r.off--
	return nil
}
