package window

import (
	"errors"
	"fmt"
	"time"
)

// Session describes windows that follow the data: records of one key that are at most one gap apart belong to one
// session. Make one with [Gap]; the zero Session is refused by [Session.Validate].
//
// A session is the closed interval [first, last] of the times of its records; its [Span] ends one millisecond after
// last. A Session is a small immutable value, comparable with == and safe for concurrent use.
type Session struct {
	gap   int64 // ms
	grace int64 // ms
	cut   cuts
}

// Gap groups records that are at most d apart, d itself included. It must be a positive number of whole milliseconds.
func Gap(d time.Duration) Session {
	return Session{gap: d.Milliseconds(), cut: cuts(0).with(cutSize, d)}
}

// Grace keeps each session open for d, in whole milliseconds, after the watermark has passed its last record by the gap.
// It is zero unless said.
func (s Session) Grace(d time.Duration) Session {
	s.cut = s.cut.with(cutGrace, d)
	s.grace = d.Milliseconds()
	return s
}

// GapMs returns the gap in milliseconds.
func (s Session) GapMs() int64 { return s.gap }

// GraceMs returns the grace in milliseconds.
func (s Session) GraceMs() int64 { return s.grace }

// Touches reports whether a record at ts belongs to the session [first, last], or to one that would be merged with it:
// ts is inside it, or at most one gap away from one of its edges.
func (s Session) Touches(first, last, ts int64) bool {
	return satSub(first, s.gap) <= ts && ts <= satAdd(last, s.gap)
}

// ClosesAt returns the watermark at which the session whose last record is at last closes. It closes as soon as no
// record at the watermark or after it could touch it, and the grace has passed: at last + gap + grace + 1.
func (s Session) ClosesAt(last int64) int64 {
	return satAdd(satAdd(satAdd(last, s.gap), s.grace), 1)
}

// Late reports whether a record is too late. lastOfMerged is the last time of the session that the record would make
// with all those it touches, or the record's own time if it touches none, and carried the watermark it carries.
func (s Session) Late(lastOfMerged, carried int64) bool {
	return s.ClosesAt(lastOfMerged) <= carried
}

// Validate returns what is wrong with the description, joined, or nil. A description that it refuses must not be used.
func (s Session) Validate() error {
	var errs []error
	if s.gap <= 0 {
		errs = append(errs, fmt.Errorf("window: session gap %v is not at least one millisecond", duration(s.gap)))
	}
	if s.grace < 0 {
		errs = append(errs, fmt.Errorf("window: grace %v is negative", duration(s.grace)))
	}
	if s.cut&cutSize != 0 {
		errs = append(errs, errors.New("window: session gap is not a whole number of milliseconds"))
	}
	return errors.Join(append(errs, (s.cut & cutGrace).faults()...)...)
}

// String describes the sessions, as in "session gap 30m0s grace 1m0s". Equal descriptions mean equal sessions, and the
// form is stable: it is recorded beside the state that was built with it.
func (s Session) String() string {
	text := fmt.Sprintf("session gap %v", duration(s.gap))
	if s.grace != 0 {
		text += fmt.Sprintf(" grace %v", duration(s.grace))
	}
	return text
}
