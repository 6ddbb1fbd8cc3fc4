package state

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/serde"
)

// A Row is one entry of a store. Its owner changes Value, Time, Headers (and
// Last, in sessions) in place and then calls the store's Touch.
type Row[V any] struct {
	Value   V
	Headers []kgo.RecordHeader // of the latest record that went in
	Time    int64              // event time of the latest record that went in, ms
	Start   int64              // window stores: the window's start; session stores: the first record's time
	Last    int64              // session stores: the last record's time
	Shown   int64              // session stores: Last as it was last told downstream; Unshown if never
	Deleted bool               // the row has no value any more

	key    string // the row's key in the store
	since  int64  // the commit since which it waits to be written to Pebble; 0 if it does not
	size   int32  // bytes, as counted into the store's size
	status status
}

// Unshown is Row.Shown of a session that was never told downstream.
const Unshown = math.MinInt64

type status uint8

const (
	dirty   status = 1 << iota // changed since the last barrier
	dead                       // closed, evicted or taken back: it is no row of the store any more
	written                    // Pebble may hold a row for it
	recent                     // used since the clock hand last passed
)

func (s status) has(f status) bool { return s&f != 0 }

// rowOverhead is about what a row costs besides key and value, in bytes.
const rowOverhead = 176

// rowSize is what a row costs in memory: its value is there as bytes at the
// barrier, and decoded.
func rowSize(key string, value []byte) int32 {
	return int32(min(rowOverhead+len(key)+2*len(value), math.MaxInt32))
}

const rowVersion = 1

// The flags of an encoded row.
const (
	hasLast    = 1 << iota // it is a session's
	hasHeaders             // it has headers
	hasShown               // the session was told downstream
	isMarker               // it is no session, but says when the key's last one closed; it has no value
	allFlags   = hasLast | hasHeaders | hasShown | isMarker
)

// appendRow encodes what a changelog record and a row of Pebble hold:
//
//	version | flags | varint time | [varint last-start] | [varint shown-start] | [headers] | value
func appendRow[V any](dst []byte, r *Row[V], session bool, s serde.Serde[V]) ([]byte, error) {
	flags := byte(0)
	if session {
		flags |= hasLast
		if r.Shown != Unshown {
			flags |= hasShown
		}
		if r.isMarker() {
			flags |= isMarker
		}
	}
	if len(r.Headers) > 0 {
		flags |= hasHeaders
	}
	dst = append(dst, rowVersion, flags)
	dst = binary.AppendVarint(dst, r.Time)
	if flags&hasLast != 0 {
		dst = binary.AppendVarint(dst, r.Last-r.Start)
	}
	if flags&hasShown != 0 {
		dst = binary.AppendVarint(dst, r.Shown-r.Start)
	}
	if flags&hasHeaders != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(r.Headers)))
		for _, h := range r.Headers {
			dst = binary.AppendUvarint(dst, uint64(len(h.Key)))
			dst = append(dst, h.Key...)
			dst = binary.AppendVarint(dst, int64(headerLen(h.Value)))
			dst = append(dst, h.Value...)
		}
	}
	if flags&isMarker != 0 {
		return dst, nil
	}
	return s.Append(dst, r.Value)
}

func headerLen(v []byte) int {
	if v == nil {
		return -1
	}
	return len(v)
}

// decodeRow is appendRow's inverse for a row whose Start is set. It keeps
// nothing of src.
func decodeRow[V any](src []byte, r *Row[V], s serde.Serde[V]) (err error) {
	d := decoder{b: src}
	flags := d.begin()
	r.Time = d.varint()
	if flags&hasLast != 0 {
		r.Last, r.Shown = r.Start+d.varint(), Unshown
	}
	if flags&hasShown != 0 {
		r.Shown = r.Start + d.varint()
	}
	if flags&hasHeaders != 0 {
		r.Headers = d.headers()
	}
	if d.err != nil || flags&isMarker != 0 {
		return d.err
	}
	r.Value, err = s.Decode(d.b)
	return err
}

// begin reads the version and returns the flags.
func (d *decoder) begin() byte {
	version, flags := d.byte(), d.byte()
	if d.err == nil && (version != rowVersion || flags&^allFlags != 0) {
		d.err = fmt.Errorf("row of version %d, flags %#x: written by a newer version of Weir", version, flags)
	}
	return flags
}

func (d *decoder) headers() []kgo.RecordHeader {
	n := d.uvarint()
	if n > uint64(len(d.b)/2) { // each takes two bytes at least
		d.short()
		return nil
	}
	hs := make([]kgo.RecordHeader, 0, n)
	for range n {
		h := kgo.RecordHeader{Key: string(d.take(int64(d.uvarint())))}
		if l := d.varint(); l >= 0 {
			h.Value = append([]byte{}, d.take(l)...)
		}
		hs = append(hs, h)
	}
	return hs
}

// A decoder takes a row apart and remembers the first error.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) short() {
	if d.err == nil {
		d.err = fmt.Errorf("row is cut short")
	}
	d.b = nil
}

func (d *decoder) byte() byte {
	if b := d.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (d *decoder) take(n int64) []byte {
	if n < 0 || n > int64(len(d.b)) {
		d.short()
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.short()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.short()
		return 0
	}
	d.b = d.b[n:]
	return v
}

// Key returns the key that the row is stored under.
func (r *Row[V]) Key() string { return r.key }
