package window

import (
	"fmt"
	"math"
	"time"
)

// Unit is a unit of the calendar.
type Unit uint8

// The units. Weeks start on Monday, quarters on the first of January, April, July and October.
const (
	Day Unit = iota + 1
	Week
	Month
	Quarter
	Year
)

// String returns the unit's name in lower case.
func (u Unit) String() string {
	names := [...]string{Day: "day", Week: "week", Month: "month", Quarter: "quarter", Year: "year"}
	if u < Day || u > Year {
		return fmt.Sprintf("unit(%d)", uint8(u))
	}
	return names[u]
}

// maxCalendar bounds the times for which a calendar has windows, in milliseconds on either side of the epoch: a hundred
// million days, so that no step of the calendar's arithmetic leaves the range of an int64.
const maxCalendar = 100_000_000 * dayMs

// calendarStart returns the start of the calendar window that holds ts.
func (f Fixed) calendarStart(ts int64) int64 {
	if !f.hasCalendar() || ts > maxCalendar {
		return math.MaxInt64
	}
	_, start := f.locate(max(ts, -maxCalendar))
	return start
}

// calendarEnd returns the end of the calendar window that starts at start, which is where the next one starts.
func (f Fixed) calendarEnd(start int64) int64 {
	if !f.hasCalendar() || start > maxCalendar {
		return math.MaxInt64
	}
	day, _ := f.locate(max(start, -maxCalendar))
	return f.startOfDay(f.unit.next(day))
}

// hasCalendar reports whether f has what calendar arithmetic needs. An f that Validate refuses has no windows.
func (f Fixed) hasCalendar() bool {
	return f.unit >= Day && f.unit <= Year && f.zone != nil
}

// locate returns the first day of the unit that holds ts, counted from 1970-01-01, and the instant at which it starts.
//
// The unit is the last one that has started at or before ts, whatever the local date of ts is: where a clock is put
// back across midnight a local date comes twice, and windows must follow each other all the same.
func (f Fixed) locate(ts int64) (day, start int64) {
	t := time.UnixMilli(ts).In(f.zone)
	ahead := offsetMs(t)
	day = f.unit.floor(floorDiv(ts+ahead-f.offset, dayMs))
	start = day*dayMs + f.offset - ahead
	if from, _ := t.ZoneBounds(); from.IsZero() || start-from.UnixMilli() >= 2*dayMs {
		return day, start // the clock has not changed since well before the start: nothing can move it
	}
	for {
		next := f.unit.next(day)
		if f.startOfDay(next) > ts {
			return day, f.startOfDay(day)
		}
		day = next
	}
}

// startOfDay returns the first instant at which the local clock shows the day's midnight plus the offset, or more. That
// is later than the reading itself where the clock jumps over it, and the first of two where the clock shows it twice.
func (f Fixed) startOfDay(day int64) int64 {
	reading := day*dayMs + f.offset
	t := time.UnixMilli(reading - 2*dayMs).In(f.zone) // no zone is two days ahead
	for {
		from, to := t.ZoneBounds()
		if !to.IsZero() && !to.After(t) {
			to = endOfDayUTC(t)
		}
		at := reading - offsetMs(t)
		if !from.IsZero() {
			at = max(at, from.UnixMilli())
		}
		if to.IsZero() || at < to.UnixMilli() {
			return at
		}
		t = to
	}
}

// endOfDayUTC returns the midnight after t in UTC, in t's zone. It helps startOfDay out where time.ZoneBounds reports an
// end that is not after t: on 31 December of leap years for which a zone has no table but only a rule, since Go lets the
// rule's year end after 365 days. No rule changes a clock on that day.
func endOfDayUTC(t time.Time) time.Time {
	return t.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).In(t.Location())
}

// offsetMs returns how far the local clock is ahead of UTC at t, in milliseconds.
func offsetMs(t time.Time) int64 {
	_, seconds := t.Zone()
	return int64(seconds) * 1000
}

// floor returns the first day of the unit that the day falls into. Days are counted from 1970-01-01, a Thursday.
func (u Unit) floor(day int64) int64 {
	switch u {
	case Day:
		return day
	case Week:
		return day - floorMod(day+3, 7)
	}
	year, month, _ := dateOf(day)
	switch u {
	case Month:
		return dayOf(year, month)
	case Quarter:
		return dayOf(year, month-(month-1)%3)
	default:
		return dayOf(year, time.January)
	}
}

// next returns the first day of the unit after the one whose first day is given.
func (u Unit) next(day int64) int64 {
	switch u {
	case Day:
		return day + 1
	case Week:
		return day + 7
	}
	year, month, _ := dateOf(day)
	switch u {
	case Month:
		return dayOf(year, month+1)
	case Quarter:
		return dayOf(year, month+3)
	default:
		return dayOf(year+1, time.January)
	}
}

// dateOf returns the date of a day counted from 1970-01-01.
func dateOf(day int64) (int, time.Month, int) {
	return time.UnixMilli(day * dayMs).UTC().Date()
}

// dayOf returns the first day of a month, counted from 1970-01-01. Months beyond December are those of the next year.
func dayOf(year int, month time.Month) int64 {
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).UnixMilli() / dayMs
}
