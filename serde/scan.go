package serde

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// maxDepth is how deep values may be nested in each other. The decoder works by recursion, and Go ends the program when a
// stack outgrows its limit, so depth must be bounded before decoding. encoding/json has the same bound.
const maxDepth = 10_000

// An extent is a range of bytes, [from, to).
type extent struct{ from, to int }

// A scanner checks that bytes are exactly one well-formed MessagePack value. The decoder trusts what it reads: it allocates what
// a length announces before looking for the bytes, and follows any nesting. After the scan every length is covered by bytes that
// are there.
type scanner struct {
	src  []byte
	off  int
	exts []extent // the bodies of extension values met, in order
}

var errEmpty = errors.New("there is nothing to read")

// scan checks src and collects its extension bodies.
func (s *scanner) scan(src []byte) error {
	s.src, s.off, s.exts = src, 0, s.exts[:0]
	if len(src) == 0 {
		return errEmpty
	}
	if err := s.values(1, 0); err != nil {
		return err
	}
	if s.off < len(src) {
		return fmt.Errorf("the value ends at byte %d, %d bytes trail it", s.off, len(src)-s.off)
	}
	return nil
}

// values passes over n values, each with all that it contains.
func (s *scanner) values(n, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("byte %d: nested deeper than %d", s.off, maxDepth)
	}
	for ; n > 0; n-- {
		if s.off >= len(s.src) {
			return fmt.Errorf("%d bytes are too few: %d more values must follow", len(s.src), n)
		}
		start := s.off
		c := codes[s.src[start]]
		size := c.size
		if len(s.src)-start < int(size) {
			return s.short(start, int(size))
		}
		s.off += int(size)
		switch c.kind {
		case kindFixed:
		case kindInvalid:
			return fmt.Errorf("byte %d: 0x%02x begins no MessagePack value", start, s.src[start])
		case kindString, kindExt:
			if err := s.body(start, c); err != nil {
				return err
			}
		default:
			count := s.length(start, c)
			if c.kind == kindMap {
				count *= 2
			}
			if count > len(s.src)-s.off {
				return fmt.Errorf("byte %d: 0x%02x holds %d values, but only %d bytes follow", start, s.src[start], count, len(s.src)-s.off)
			}
			if err := s.values(count, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// body passes over the bytes of a string, binary or extension, whose header begins at start and has been passed.
func (s *scanner) body(start int, c code) error {
	n := s.length(start, c)
	if n > len(s.src)-s.off {
		return s.short(start, s.off-start+n)
	}
	if c.kind == kindExt {
		s.exts = append(s.exts, extent{s.off, s.off + n})
	}
	s.off += n
	return nil
}

// length reads the length in the header that begins at start.
func (s *scanner) length(start int, c code) int {
	switch b := s.src[start+1:]; c.width {
	case 1:
		return int(b[0])
	case 2:
		return int(binary.BigEndian.Uint16(b))
	case 4:
		// Where int has 32 bits, a length it cannot hold is longer than any input; halved, it may be doubled for a map.
		return int(min(uint64(binary.BigEndian.Uint32(b)), math.MaxInt/2))
	}
	return int(c.fixed)
}

func (s *scanner) short(start, want int) error {
	return fmt.Errorf("byte %d: 0x%02x needs %d bytes, but %d are left", start, s.src[start], want, len(s.src)-start)
}

// A code says how to pass over a value that begins with some byte.
type code struct {
	kind  kind
	size  uint8 // bytes of the header; of the whole value if kindFixed
	width uint8 // bytes of the length in the header, after its first byte
	fixed uint8 // the length, if it is in the first byte
}

type kind uint8

const (
	kindInvalid kind = iota
	kindFixed
	kindString // strings and binaries
	kindExt
	kindArray
	kindMap
)

// codes is MessagePack's table of first bytes.
var codes = func() (t [256]code) {
	for i := range 256 {
		switch {
		case i < 0x80 || i >= 0xe0: // small integers
			t[i] = code{kind: kindFixed, size: 1}
		case i < 0x90:
			t[i] = code{kind: kindMap, size: 1, fixed: uint8(i & 0x0f)}
		case i < 0xa0:
			t[i] = code{kind: kindArray, size: 1, fixed: uint8(i & 0x0f)}
		case i < 0xc0:
			t[i] = code{kind: kindString, size: 1, fixed: uint8(i & 0x1f)}
		}
	}
	for first, sizes := range map[int][]uint8{
		0xc0: {1},          // nil
		0xc2: {1, 1},       // false, true
		0xca: {5, 9},       // floats
		0xcc: {2, 3, 5, 9}, // unsigned integers
		0xd0: {2, 3, 5, 9}, // signed integers
	} {
		for i, size := range sizes {
			t[first+i] = code{kind: kindFixed, size: size}
		}
	}
	for i, width := range []uint8{1, 2, 4} {
		t[0xc4+i] = code{kind: kindString, size: 1 + width, width: width} // binaries
		t[0xc7+i] = code{kind: kindExt, size: 2 + width, width: width}
		t[0xd9+i] = code{kind: kindString, size: 1 + width, width: width}
	}
	for i := range 5 {
		t[0xd4+i] = code{kind: kindExt, size: 2, fixed: 1 << i}
	}
	for i, width := range []uint8{2, 4} {
		t[0xdc+i] = code{kind: kindArray, size: 1 + width, width: width}
		t[0xde+i] = code{kind: kindMap, size: 1 + width, width: width}
	}
	return t
}()
