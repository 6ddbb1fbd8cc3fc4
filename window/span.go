package window

import "time"

// Span is a half-open interval of event time, [start, end), in whole milliseconds. That of a session ends one millisecond
// after its last record. Spans are comparable with == and usable as map keys. The zero Span is empty and means "no
// window".
type Span struct {
	start, end int64 // milliseconds since the epoch
}

// NewSpan returns the span [start, end). Both times are cut to whole milliseconds; their zones are forgotten.
func NewSpan(start, end time.Time) Span {
	return Span{start: start.UnixMilli(), end: end.UnixMilli()}
}

// Millis returns the span [start, end) of two times in milliseconds since the epoch.
func Millis(start, end int64) Span {
	return Span{start: start, end: end}
}

// Start returns the first instant inside the span, in UTC.
func (s Span) Start() time.Time { return time.UnixMilli(s.start).UTC() }

// End returns the first instant after the span, in UTC.
func (s Span) End() time.Time { return time.UnixMilli(s.end).UTC() }

// StartMs returns the first millisecond inside the span, counted from the epoch.
func (s Span) StartMs() int64 { return s.start }

// EndMs returns the first millisecond after the span, counted from the epoch.
func (s Span) EndMs() int64 { return s.end }

// IsZero reports whether s is the zero Span.
func (s Span) IsZero() bool { return s == Span{} }

// Contains reports whether the time ms, in milliseconds since the epoch, lies in the span.
func (s Span) Contains(ms int64) bool { return s.start <= ms && ms < s.end }

// String returns the span as "[start, end)" with both times in RFC 3339, UTC.
func (s Span) String() string {
	return "[" + s.Start().Format(time.RFC3339Nano) + ", " + s.End().Format(time.RFC3339Nano) + ")"
}

// Key is the key of a windowed result: the key of the records and the window they fell into. It is comparable when K
// is.
type Key[K any] struct {
	Key  K    // the key the records were grouped by
	Span Span // the window
}
