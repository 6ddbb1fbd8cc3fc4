package checkpoint

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weirstream/weir/watermark"
)

// An Offset is what a commit says of one input partition of a task.
type Offset struct {
	Topic     string
	Partition int32
	Offset    int64 // of the next record to process; -1 if nothing was committed
	Meta      Meta
}

// Meta is kept as the metadata of a committed offset. Watermarks are ms since
// the epoch, or watermark.None.
type Meta struct {
	Partition int64 // the input partition's watermark
	Task      int64 // the task's watermark
	Fired     int64 // everything due at this watermark has been closed
	// Stores says how far each store had closed, if a closing was interrupted:
	// Fired is then behind Task.
	Stores []StoreProgress
}

// A StoreProgress is how far the closings of a store had come.
type StoreProgress struct {
	Store  string
	Closed int64
	After  string // the last row that was emitted of what closes later
}

// NoMeta is the metadata of a partition that nothing was committed for.
var NoMeta = Meta{Partition: watermark.None, Task: watermark.None, Fired: watermark.None}

// MaxMeta is the most bytes of metadata that brokers accept, by default
// (offset.metadata.max.bytes).
const MaxMeta = 4096

const metaVersion = 1

// ErrMetaTooLong is returned for metadata that brokers would not accept.
var ErrMetaTooLong = errors.New("the position of an interrupted closing does not fit into offset metadata")

// Encode returns the metadata as text.
func (m Meta) Encode() (string, error) {
	b := []byte{metaVersion}
	for _, w := range []int64{m.Partition, m.Task, m.Fired} {
		b = binary.AppendVarint(b, w)
	}
	b = binary.AppendUvarint(b, uint64(len(m.Stores)))
	for _, s := range m.Stores {
		b = appendString(b, s.Store)
		b = binary.AppendVarint(b, s.Closed)
		b = appendString(b, s.After)
	}
	text := base64.RawStdEncoding.EncodeToString(b)
	if len(text) > MaxMeta {
		return "", ErrMetaTooLong
	}
	return text, nil
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// DecodeMeta reads what Encode wrote. Empty text, as other programs commit it,
// is NoMeta.
func DecodeMeta(text string) (Meta, error) {
	if text == "" {
		return NoMeta, nil
	}
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return NoMeta, fmt.Errorf("offset metadata %.40q is not Weir's: %w", text, err)
	}
	d := reader{b: b}
	if v := d.take(1); d.err == nil && v[0] != metaVersion {
		return NoMeta, fmt.Errorf("offset metadata has version %d, written by a newer version of Weir", v[0])
	}
	m := Meta{Partition: d.varint(), Task: d.varint(), Fired: d.varint()}
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		m.Stores = append(m.Stores, StoreProgress{d.string(), d.varint(), d.string()})
	}
	if d.err == nil && len(d.b) > 0 {
		d.err = errors.New("bytes are left over")
	}
	if d.err != nil {
		return NoMeta, fmt.Errorf("offset metadata %.40q: %w", text, d.err)
	}
	return m, nil
}

// A reader takes bytes apart and remembers the first error.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		if r.err == nil {
			r.err = errors.New("it is cut short")
		}
		r.b = nil
		return make([]byte, min(n, 1))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.take(uint64(max(n, 0)))
	if n <= 0 {
		r.take(1 << 62)
	}
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.take(uint64(max(n, 0)))
	if n <= 0 {
		r.take(1 << 62)
	}
	return v
}

func (r *reader) string() string {
	n := r.uvarint()
	if r.err != nil {
		return ""
	}
	return string(r.take(n))
}
