package window

import "time"

// Fixed describes windows that a record falls into by its timestamp alone: tumbling, hopping or calendar windows. Make
// one with [Tumbling], [Hopping] or [Calendar]; the zero Fixed is refused by [Fixed.Validate].
//
// A Fixed is a small immutable value, safe for concurrent use. It may be compared with ==, except that two calendars
// are equal only if they share one *time.Location: compare their String forms instead.
type Fixed struct {
	size    int64 // ms; 0 for a calendar
	advance int64 // ms from one start to the next; 0 for a calendar
	back    int64 // ms from the latest start at or before a time to the earliest start whose window may hold that time
	offset  int64 // ms; in [0, advance), for a calendar any wall-clock time after midnight
	grace   int64 // ms

	zone     *time.Location // of a calendar
	unit     Unit           // of a calendar
	calendar bool
	cut      cuts // durations that were not whole milliseconds, for Validate
}

// cuts names the durations of a description that had a part below one millisecond.
type cuts uint8

const (
	cutSize cuts = 1 << iota
	cutAdvance
	cutOffset
	cutGrace
)

// with returns c with the bit of one duration set or cleared.
func (c cuts) with(bit cuts, d time.Duration) cuts {
	if whole(d) {
		return c &^ bit
	}
	return c | bit
}

// Tumbling cuts time into adjacent windows of the given size, which must be a positive number of whole milliseconds.
// Windows start at multiples of size from the epoch.
func Tumbling(size time.Duration) Fixed {
	return Hopping(size, size)
}

// Hopping cuts time into windows of the given size, one starting every advance, so that they overlap and a record falls
// into about size/advance of them. Both must be positive numbers of whole milliseconds, and advance at most size.
// Windows start at multiples of advance from the epoch. Hopping(d, d) is Tumbling(d).
func Hopping(size, advance time.Duration) Fixed {
	f := Fixed{size: size.Milliseconds(), advance: advance.Milliseconds()}
	f.cut = f.cut.with(cutSize, size).with(cutAdvance, advance)
	if f.advance > 0 && f.size > 0 {
		f.back = (f.size - 1) / f.advance * f.advance
	}
	return f
}

// Calendar cuts time into the days, weeks, months, quarters or years of a zone. They have the length that the calendar
// gives them: a day on which the clock changes has 23 or 25 hours. A day starts at the first instant whose local time
// is midnight or later, and ends where the next one starts.
//
// The zone must be named, as by time.LoadLocation or time.UTC. [Fixed.Validate] refuses time.Local, which would make
// the results depend on the machine.
func Calendar(unit Unit, zone *time.Location) Fixed {
	return Fixed{unit: unit, zone: zone, calendar: true}
}

// Offset moves the start of every window by d, a number of whole milliseconds that may be negative: away from the
// multiples of the advance for tumbling and hopping windows, and away from local midnight, by the wall clock, for
// calendar windows. Calendar(Day, zone).Offset(6*time.Hour) starts each day at 06:00 local time.
func (f Fixed) Offset(d time.Duration) Fixed {
	f.cut = f.cut.with(cutOffset, d)
	f.offset = d.Milliseconds()
	if f.advance > 0 {
		f.offset = floorMod(f.offset, f.advance)
	}
	return f
}

// Grace keeps each window open for d, in whole milliseconds, after the watermark has reached its end. It is zero unless
// said.
func (f Fixed) Grace(d time.Duration) Fixed {
	f.cut = f.cut.with(cutGrace, d)
	f.grace = d.Milliseconds()
	return f
}

// GraceMs returns the grace in milliseconds.
func (f Fixed) GraceMs() int64 { return f.grace }
