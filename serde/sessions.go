package serde

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weirstream/weir/window"
)

// Windowed returns the serde of keys with windows of any size: the key, then the window's last millisecond, then its first, each
// as eight bytes, big-endian. It is what Kafka Streams' SessionWindowedSerializer writes. Kafka's end of a session is its last
// timestamp, which belongs to the session; a [window.Span] ends one millisecond later, and the serde converts. Append refuses
// empty windows, which have no last millisecond.
func Windowed[K any](key Serde[K]) Serde[window.Key[K]] { return &windowed[K]{key: key} }

type windowed[K any] struct{ key Serde[K] }

func (s *windowed[K]) Append(dst []byte, v window.Key[K]) ([]byte, error) {
	first, end := v.Span.StartMs(), v.Span.EndMs()
	if end <= first {
		return dst, fmt.Errorf("serde: windowed key with the empty window [%d, %d) ms", first, end)
	}
	out, err := s.key.Append(dst, v.Key)
	if err != nil {
		return dst, fmt.Errorf("serde: key of a window: %w", err)
	}
	out = binary.BigEndian.AppendUint64(out, uint64(end-1))
	return binary.BigEndian.AppendUint64(out, uint64(first)), nil
}

func (s *windowed[K]) Decode(src []byte) (window.Key[K], error) {
	n := len(src) - 16
	if n < 0 {
		return window.Key[K]{}, fmt.Errorf("serde: windowed key of %d bytes, want the key and 16 bytes", len(src))
	}
	key, err := s.key.Decode(src[:n:n])
	if err != nil {
		return window.Key[K]{}, fmt.Errorf("serde: key of a window, %d of %d bytes: %w", n, len(src), err)
	}
	last := int64(binary.BigEndian.Uint64(src[n:]))
	first := int64(binary.BigEndian.Uint64(src[n+8:]))
	if last < first || last == math.MaxInt64 {
		return window.Key[K]{}, fmt.Errorf("serde: windowed key with a window from %d to %d ms, which is no window", first, last)
	}
	return window.Key[K]{Key: key, Span: window.Millis(first, last+1)}, nil
}

func (s *windowed[K]) Describe() string { return "windowed(" + Describe(s.key) + ")" }
func (s *windowed[K]) canonical() bool  { return Canonical(s.key) }
func (s *windowed[K]) checkKey() error  { return CheckKey(s.key) }
