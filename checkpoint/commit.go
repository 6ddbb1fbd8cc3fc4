package checkpoint

import (
	"context"
	"errors"
	"fmt"
)

// A Participant is a task, as the protocol sees it.
type Participant interface {
	// Flush turns what changed into changelog records and updates.
	Flush(commit int64) error
	// Offsets returns the offsets to commit: none if the task did nothing since
	// the last commit.
	Offsets() ([]Offset, error)
	// Committed tells that the interval is final, and was at wall, ms since the
	// epoch.
	Committed(commit, wall int64)
}

// A Log is what is written to: a Kafka client with one transaction at a time,
// or what stands for it in a test.
type Log interface {
	// Flush waits until everything that was written is acknowledged, and returns
	// the first failure.
	Flush(ctx context.Context) error
	// CommitOffsets adds offsets to the transaction; without one, it commits
	// them at once.
	CommitOffsets(ctx context.Context, offsets []Offset) error
	// End commits the transaction, if there is one. After an error its outcome
	// is not known.
	End(ctx context.Context) error
}

// A Point is a place in the protocol at which a process may die.
type Point string

// The points, in order.
const (
	AfterPoll      Point = "after poll"
	AfterProcess   Point = "after process"
	AfterFlush     Point = "after changelog produce"
	BeforeOffsets  Point = "before offset commit"
	AfterOffsets   Point = "after offset commit"
	BeforeEnd      Point = "before EndTxn"
	AfterEnd       Point = "after EndTxn"
	BeforeWrite    Point = "before the Pebble write"
	DuringWrite    Point = "during the Pebble write"
	BetweenClosing Point = "between two steps of a closing"
)

// A Hook is called at each point. An error stops the worker dead, as a crash
// would; only tests have one.
type Hook func(Point) error

// Reach calls the hook, if there is one.
func (h Hook) Reach(p Point) error {
	if h == nil {
		return nil
	}
	if err := h(p); err != nil {
		return &CrashError{Point: p, Err: err}
	}
	return nil
}

// A CrashError stops a worker dead at a point: a test asked for it.
type CrashError struct {
	Point Point
	Err   error
}

func (e *CrashError) Error() string { return fmt.Sprintf("crash %s: %v", e.Point, e.Err) }
func (e *CrashError) Unwrap() error { return e.Err }

// A NotCommittedError says that an interval was not committed, or that it is
// not known whether it was. The tasks must be opened anew from what Kafka says.
type NotCommittedError struct {
	Doubt bool // the transaction's end was asked for, and not answered by success
	Err   error
}

func (e *NotCommittedError) Error() string {
	if e.Doubt {
		return fmt.Sprintf("the outcome of a commit is in doubt: %v", e.Err)
	}
	return fmt.Sprintf("a commit failed: %v", e.Err)
}

func (e *NotCommittedError) Unwrap() error { return e.Err }

// An Interval is what one commit covers.
type Interval struct {
	Number   int64
	Tasks    []Participant
	Log      Log
	Controls func() error // writes watermark control records
	Wall     func() int64
	Hook     Hook
}

// Commit runs the protocol. It returns a *NotCommittedError when the interval
// was not, or may not have been, committed; any other error is the tasks' own,
// and nothing was committed. It reports whether there was anything to commit.
func (i *Interval) Commit(ctx context.Context) (bool, error) {
	for _, t := range i.Tasks {
		if err := t.Flush(i.Number); err != nil {
			return false, err
		}
	}
	if err := i.Controls(); err != nil {
		return false, err
	}
	var offsets []Offset
	for _, t := range i.Tasks {
		o, err := t.Offsets()
		if err != nil {
			return false, err
		}
		offsets = append(offsets, o...)
	}
	if err := i.end(ctx, offsets); err != nil {
		return false, err
	}
	wall := i.Wall()
	for _, t := range i.Tasks {
		t.Committed(i.Number, wall)
	}
	return len(offsets) > 0, nil
}

func (i *Interval) end(ctx context.Context, offsets []Offset) error {
	if err := i.Log.Flush(ctx); err != nil {
		return &NotCommittedError{Err: fmt.Errorf("not everything could be written: %w", err)}
	}
	if err := errors.Join(i.Hook.Reach(AfterFlush), i.Hook.Reach(BeforeOffsets)); err != nil {
		return err
	}
	if len(offsets) > 0 {
		if err := i.Log.CommitOffsets(ctx, offsets); err != nil {
			return &NotCommittedError{Err: fmt.Errorf("the offsets were not accepted: %w", err)}
		}
	}
	if err := errors.Join(i.Hook.Reach(AfterOffsets), i.Hook.Reach(BeforeEnd)); err != nil {
		return err
	}
	if err := i.Log.End(ctx); err != nil {
		return &NotCommittedError{Doubt: true, Err: err}
	}
	return i.Hook.Reach(AfterEnd)
}
