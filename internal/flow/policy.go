package flow

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// An Action is what happens to a record that cannot go on.
type Action uint8

// The actions.
const (
	Stop       Action = iota // the app stops
	Skip                     // the record is dropped and counted
	DeadLetter               // the record is written to another topic, and counted
)

// A Policy says what happens to records that cannot be decoded, processed or
// produced. It is shared by tasks.
type Policy struct {
	Action Action
	Topic  string        // of dead letters
	Retry  int           // more attempts
	Wait   time.Duration // before the first of them; twice as long before each that follows
}

// A PermanentError is one that no retry can mend.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }
func (e *PermanentError) Unwrap() error { return e.Err }

// A PanicError is a panic of a user function.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// A RecordError says which record failed where, and why. It stops the app.
type RecordError struct {
	Operator string
	Where    string
	Err      error
}

func (e *RecordError) Error() string {
	s := fmt.Sprintf("operator %s: %s: %v", e.Operator, e.Where, e.Err)
	var p *PanicError
	if errors.As(e.Err, &p) {
		s += "\n" + string(p.Stack)
	}
	return s
}

func (e *RecordError) Unwrap() error { return e.Err }

// Recovered turns a recovered panic into an error, with the stack.
func Recovered(p any) error { return &PanicError{Value: p, Stack: debug.Stack()} }

// Reject applies the policy to the record at hand: it cannot pass node because
// of err, after that many attempts.
func (c *Context) Reject(p *Policy, node int32, why Reason, err error, attempts int) {
	switch p.Action {
	case Skip:
		c.Drop(node, why)
	case DeadLetter:
		c.Drop(node, why)
		c.deadLetter(p.Topic, node, err, attempts)
	default:
		c.Fail(&RecordError{Operator: c.Task.Names[node], Where: c.Where(), Err: err})
	}
}

// The headers of a dead letter.
const (
	HeaderTopic     = "weir.dlq.topic"
	HeaderPartition = "weir.dlq.partition"
	HeaderOffset    = "weir.dlq.offset"
	HeaderTime      = "weir.dlq.timestamp"
	HeaderOperator  = "weir.dlq.operator"
	HeaderError     = "weir.dlq.error"
	HeaderStack     = "weir.dlq.stack"
	HeaderAttempts  = "weir.dlq.attempts"
	HeaderFirstSeen = "weir.dlq.first-seen"
	HeaderWindow    = "weir.dlq.window" // of a result: its window, if it has one
)

// deadLetter writes the record as it was read, with what went wrong in headers.
// A result was not read: of it there is the key, as state encodes it.
func (c *Context) deadLetter(topic string, node int32, err error, attempts int) {
	t, terr := c.Task.Out.Topic(topic)
	if terr != nil {
		c.Fail(fmt.Errorf("dead-letter topic of operator %s: %w", c.Task.Names[node], terr))
		return
	}
	text := func(key, value string) kgo.RecordHeader { return kgo.RecordHeader{Key: key, Value: []byte(value)} }
	key, value, headers := c.RawKey, []byte(nil), c.Headers
	partition := c.Task.Partition % t.Partitions
	if r := c.Source; r != nil {
		key, value, headers = r.Key, r.Value, r.Headers
		partition = r.Partition % t.Partitions
	}
	headers = append(headers[:len(headers):len(headers)],
		text(HeaderOperator, c.Task.Names[node]), text(HeaderError, err.Error()),
		text(HeaderAttempts, strconv.Itoa(attempts)), text(HeaderTime, strconv.FormatInt(c.Time, 10)))
	if r := c.Source; r != nil {
		headers = append(headers, text(HeaderTopic, r.Topic), text(HeaderPartition, strconv.Itoa(int(r.Partition))),
			text(HeaderOffset, strconv.FormatInt(r.Offset, 10)))
	}
	if !c.Window.IsZero() {
		headers = append(headers, text(HeaderWindow, c.Window.String()))
	}
	var p *PanicError
	if errors.As(err, &p) {
		headers = append(headers, text(HeaderStack, string(p.Stack)))
	}
	headers = append(headers, text(HeaderFirstSeen, strconv.FormatInt(c.Task.Now(), 10)))
	c.Task.Out.Send(t, partition, key, value, c.Time, headers)
}

// Try calls f, again as the policy says, and returns whether it succeeded. If
// not, the policy has been applied to the record.
func (c *Context) Try(p *Policy, node int32, f func() error) bool {
	wait := p.Wait
	for attempt := 1; ; attempt++ {
		err := guard(f)
		if err == nil {
			return true
		}
		var permanent *PermanentError
		if attempt > p.Retry || errors.As(err, &permanent) {
			c.Reject(p, node, Failed, err, attempt)
			return false
		}
		if err := c.Task.Sleep(wait.Milliseconds()); err != nil {
			c.Fail(err)
			return false
		}
		wait *= 2
	}
}

func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Recovered(p)
		}
	}()
	return f()
}
