package window

import "math"

// First returns the start of the earliest window that holds ts. All times are milliseconds since the epoch. The windows
// that hold ts, earliest first, are
//
//	for start := f.First(ts); start <= ts; start = f.Next(start) { ... f.EndOf(start) ... }
//
// ts is any int64 below math.MaxInt64, which is no time but the end of time (the loop would not end). Windows that would
// begin before math.MinInt64 do not exist; for a time that is in no window, First(ts) > ts. Ends beyond math.MaxInt64
// stand at it.
func (f Fixed) First(ts int64) int64 {
	last := f.Last(ts)
	if f.back == 0 {
		return last
	}
	return f.firstOf(ts, last)
}

// firstOf returns the earliest start of the overlapping windows that hold ts, given the latest.
func (f Fixed) firstOf(ts, last int64) int64 {
	first := last - f.back
	if ts-first >= f.size {
		first += f.advance // size is no multiple of advance, and ts is past the end of that window
	}
	if first > ts {
		return f.Last(math.MinInt64) // wrapped: begin with the first window that exists
	}
	return first
}

// Last returns the start of the latest window that holds ts. It is First(ts) unless windows overlap.
func (f Fixed) Last(ts int64) int64 {
	if f.advance <= 0 {
		return f.calendarStart(ts)
	}
	into := ts%f.advance - f.offset // both at most one advance away from zero: two corrections make it positive
	into += f.advance & (into >> 63)
	into += f.advance & (into >> 63)
	start := ts - into
	if start > ts {
		start += f.advance // wrapped: the window of ts does not exist
	}
	return start
}

// Next returns the start of the window that follows the one that starts at start, or math.MaxInt64 if there is none.
func (f Fixed) Next(start int64) int64 {
	if f.advance <= 0 {
		return f.calendarEnd(start)
	}
	return satAdd(start, f.advance)
}

// EndOf returns the end of the window that starts at start: the first millisecond that is not in it.
func (f Fixed) EndOf(start int64) int64 {
	if f.advance <= 0 {
		return f.calendarEnd(start)
	}
	return satAdd(start, f.size)
}

// ClosesAt returns the watermark at which the window that starts at start closes: its end plus the grace.
func (f Fixed) ClosesAt(start int64) int64 {
	return satAdd(f.EndOf(start), f.grace)
}

// Late reports whether a record that carries the given watermark is too late for the window that starts at start: the
// window closes at or before that watermark.
func (f Fixed) Late(start, carried int64) bool {
	return f.ClosesAt(start) <= carried
}
