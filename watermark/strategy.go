package watermark

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Strategy says how the watermarks of a source come from the timestamps of its records. The zero Strategy is Bounded(0).
// A Strategy is a small immutable value, comparable with == and safe for concurrent use. All its durations are whole
// milliseconds.
type Strategy struct {
	bound, idle, ahead time.Duration
	advance            bool
}

// Bounded tolerates records of one partition that are at most d out of order: the watermark of a partition is the
// greatest time seen in it, less d. A record that is further behind may be late.
func Bounded(d time.Duration) Strategy {
	return Strategy{bound: d}
}

// Idle lets a partition stop holding the watermark back once it has been silent for d and was then proved to have been
// read to its end. Zero, the default, means never: a partition without records holds its task's windows open.
func (s Strategy) Idle(d time.Duration) Strategy {
	s.idle = d
	return s
}

// AdvanceWhenIdle lets event time run on with the clock while every input of a task is idle, so that its last windows
// close. It needs [Strategy.Idle]. Results then depend on when records arrive.
func (s Strategy) AdvanceWhenIdle() Strategy {
	s.advance = true
	return s
}

// MaxAhead hands a record whose time is ahead of the clock by more than d to the source's error policy, before it can
// move the watermark. Zero, the default, means that a record may be any time ahead.
func (s Strategy) MaxAhead(d time.Duration) Strategy {
	s.ahead = d
	return s
}

// BoundMs returns the bound in milliseconds.
func (s Strategy) BoundMs() int64 { return s.bound.Milliseconds() }

// IdleMs returns the idle timeout in milliseconds, or 0 for never.
func (s Strategy) IdleMs() int64 { return s.idle.Milliseconds() }

// Advances reports whether time runs on with the clock while all inputs are idle.
func (s Strategy) Advances() bool { return s.advance }

// MaxAheadMs returns how far a record may be ahead of the clock in milliseconds, or 0 for any distance.
func (s Strategy) MaxAheadMs() int64 { return s.ahead.Milliseconds() }

// Validate returns what is wrong with the strategy, joined, or nil.
func (s Strategy) Validate() error {
	var errs []error
	for _, part := range []struct {
		name string
		d    time.Duration
	}{{"bound", s.bound}, {"idle timeout", s.idle}, {"MaxAhead", s.ahead}} {
		if part.d < 0 {
			errs = append(errs, fmt.Errorf("watermark: %s %v is negative", part.name, part.d))
		}
		if part.d%time.Millisecond != 0 {
			errs = append(errs, fmt.Errorf("watermark: %s %v is not a whole number of milliseconds", part.name, part.d))
		}
	}
	if s.advance && s.idle == 0 {
		errs = append(errs, errors.New("watermark: AdvanceWhenIdle has no effect without Idle: no partition is ever idle"))
	}
	return errors.Join(errs...)
}

// String describes the strategy, as in "bounded 10s idle 1m0s advance-when-idle max-ahead 1h0m0s".
func (s Strategy) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "bounded %v", s.bound)
	if s.idle != 0 {
		fmt.Fprintf(&b, " idle %v", s.idle)
	}
	if s.advance {
		b.WriteString(" advance-when-idle")
	}
	if s.ahead != 0 {
		fmt.Fprintf(&b, " max-ahead %v", s.ahead)
	}
	return b.String()
}
