package watermark

import (
	"encoding/binary"
	"errors"
)

// errMalformed says that bytes are cut short, or are not the shortest form of what they mean.
var errMalformed = errors.New("malformed number: the bytes are cut short or damaged")

// reader takes numbers from the front of b. After the first that is malformed, bad is set and all others are zero.
type reader struct {
	b   []byte
	bad bool
}

// uvarint reads a number in its shortest form.
func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 || n > 1 && r.b[n-1] == 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// varint reads a signed number in its shortest form.
func (r *reader) varint() int64 {
	return unzigzag(r.uvarint())
}

// byte reads one byte.
func (r *reader) byte() byte {
	if r.bad || len(r.b) == 0 {
		r.bad = true
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// zigzag maps numbers close to zero, of either sign, to small ones. It is the mapping of binary.AppendVarint.
func zigzag(v int64) uint64 {
	return uint64(v)<<1 ^ uint64(v>>63)
}

// unzigzag undoes zigzag.
func unzigzag(u uint64) int64 {
	return int64(u>>1) ^ -int64(u&1)
}
