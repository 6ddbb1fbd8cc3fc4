package serde

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/weirstream/weir/window"
)

// TimeWindowed returns the serde of keys of windows that all have one size: the key, then the window's start in milliseconds as
// eight bytes, big-endian. It is what Kafka Streams' TimeWindowedSerializer writes. The end is not written but computed, so
// Append refuses a window of another size; for windows of differing sizes, such as sessions and calendar months, use
// [Windowed]. As in Kafka Streams, a window that would end after the greatest time ends there.
//
// The size must be a positive number of whole milliseconds, or every call returns an error that says so.
func TimeWindowed[K any](key Serde[K], size time.Duration) Serde[window.Key[K]] {
	s := &timeWindowed[K]{key: key, size: size.Milliseconds()}
	if size <= 0 || size%time.Millisecond != 0 {
		s.invalid = fmt.Errorf("serde: TimeWindowed with windows of %v: the size must be a positive number of whole milliseconds", size)
	}
	return s
}

type timeWindowed[K any] struct {
	key     Serde[K]
	size    int64 // ms
	invalid error // why size cannot be used
}

// end returns the end of the window that begins at start.
func (s *timeWindowed[K]) end(start int64) int64 {
	if start > math.MaxInt64-s.size {
		return math.MaxInt64
	}
	return start + s.size
}

func (s *timeWindowed[K]) Append(dst []byte, v window.Key[K]) ([]byte, error) {
	if s.invalid != nil {
		return dst, s.invalid
	}
	start := v.Span.StartMs()
	if v.Span.EndMs() != s.end(start) {
		return dst, fmt.Errorf("serde: window %v in a TimeWindowed serde for windows of %d ms: its end would be lost; use serde.Windowed",
			v.Span, s.size)
	}
	out, err := s.key.Append(dst, v.Key)
	if err != nil {
		return dst, fmt.Errorf("serde: key of a time window: %w", err)
	}
	return binary.BigEndian.AppendUint64(out, uint64(start)), nil
}

func (s *timeWindowed[K]) Decode(src []byte) (window.Key[K], error) {
	if s.invalid != nil {
		return window.Key[K]{}, s.invalid
	}
	n := len(src) - 8
	if n < 0 {
		return window.Key[K]{}, fmt.Errorf("serde: time-windowed key of %d bytes, want the key and 8 bytes", len(src))
	}
	key, err := s.key.Decode(src[:n:n])
	if err != nil {
		return window.Key[K]{}, fmt.Errorf("serde: key of a time window, %d of %d bytes: %w", n, len(src), err)
	}
	start := int64(binary.BigEndian.Uint64(src[n:]))
	return window.Key[K]{Key: key, Span: window.Millis(start, s.end(start))}, nil
}

func (s *timeWindowed[K]) Describe() string {
	return fmt.Sprintf("time-windowed(%s,%d)", Describe(s.key), s.size)
}

func (s *timeWindowed[K]) canonical() bool { return Canonical(s.key) }
func (s *timeWindowed[K]) checkKey() error { return CheckKey(s.key) }
