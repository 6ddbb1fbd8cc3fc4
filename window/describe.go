package window

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Validate returns what is wrong with the description, joined, or nil. A description that it refuses must not be used;
// it assigns records to no window or to wrong ones, but never panics.
func (f Fixed) Validate() error {
	var errs []error
	if f.calendar {
		errs = f.calendarFaults()
	} else {
		errs = f.gridFaults()
	}
	if f.grace < 0 {
		errs = append(errs, fmt.Errorf("window: grace %v is negative", duration(f.grace)))
	}
	return errors.Join(append(errs, f.cut.faults()...)...)
}

// gridFaults checks tumbling and hopping windows.
func (f Fixed) gridFaults() []error {
	if f.size <= 0 {
		return []error{fmt.Errorf("window: size %v is not at least one millisecond", duration(f.size))}
	}
	if f.advance <= 0 {
		return []error{fmt.Errorf("window: advance %v is not at least one millisecond", duration(f.advance))}
	}
	if f.advance > f.size {
		return []error{fmt.Errorf("window: advance %v is greater than size %v, so records between two windows would be lost",
			duration(f.advance), duration(f.size))}
	}
	return nil
}

// calendarFaults checks calendar windows.
func (f Fixed) calendarFaults() (errs []error) {
	if f.unit < Day || f.unit > Year {
		errs = append(errs, fmt.Errorf("window: %v is no unit of the calendar; use Day, Week, Month, Quarter or Year", f.unit))
	}
	switch f.zone {
	case nil:
		errs = append(errs, errors.New("window: calendar has no zone; use time.UTC or time.LoadLocation"))
	case time.Local:
		errs = append(errs, errors.New(
			"window: calendar in time.Local depends on the machine it runs on; name the zone with time.LoadLocation"))
	}
	return errs
}

// faults returns an error for each duration that had to be cut.
func (c cuts) faults() (errs []error) {
	for i, name := range []string{"size", "advance", "offset", "grace"} {
		if c&(1<<i) != 0 {
			errs = append(errs, fmt.Errorf("window: %s is not a whole number of milliseconds", name))
		}
	}
	return errs
}

// String describes the windows, as in "tumbling 1m0s offset 3s grace 30s". Equal descriptions mean equal windows, and
// the form is stable: it is recorded beside the state that was built with it.
func (f Fixed) String() string {
	var b strings.Builder
	switch {
	case f.calendar:
		fmt.Fprintf(&b, "calendar %v %s", f.unit, describeZone(f.zone))
	case f.size == f.advance:
		fmt.Fprintf(&b, "tumbling %v", duration(f.size))
	default:
		fmt.Fprintf(&b, "hopping %v advance %v", duration(f.size), duration(f.advance))
	}
	if f.offset != 0 {
		fmt.Fprintf(&b, " offset %v", duration(f.offset))
	}
	if f.grace != 0 {
		fmt.Fprintf(&b, " grace %v", duration(f.grace))
	}
	return b.String()
}

// describeZone returns the zone's name. A zone whose clock never changes may have been made by hand, with any name, so
// its distance from UTC is given too.
func describeZone(zone *time.Location) string {
	if zone == nil {
		return "without zone"
	}
	t := time.Unix(0, 0).In(zone)
	from, to := t.ZoneBounds()
	if zone == time.UTC || !from.IsZero() || !to.IsZero() {
		return zone.String()
	}
	return zone.String() + " (UTC" + t.Format("-07:00:00") + ")"
}
