package stream

import (
	"time"

	"github.com/weirstream/weir/internal/flow"
)

// An ErrorPolicy says what happens to a record that cannot be decoded,
// processed or produced. Its zero value is Fail. Records that fail are counted
// under a reason whatever the policy; a bad record on an internal topic always
// stops the app.
type ErrorPolicy struct{ p flow.Policy }

// Fail stops the app with an error that names topic, partition, offset, key and
// operator. Nothing of the record's transaction is committed.
func Fail() ErrorPolicy { return ErrorPolicy{} }

// Skip drops the record and counts it.
func Skip() ErrorPolicy { return ErrorPolicy{flow.Policy{Action: flow.Skip}} }

// DeadLetter writes the record's original bytes, with what went wrong in
// headers, to the topic called name, in the same transaction. The topic must
// exist.
func DeadLetter(name string) ErrorPolicy {
	return ErrorPolicy{flow.Policy{Action: flow.DeadLetter, Topic: name}}
}

// Retry first tries up to n times more, waiting twice as long each time, for
// errors of user functions that are not Permanent. Records behind it wait, and
// all waits together should stay below the transaction timeout.
func (p ErrorPolicy) Retry(n int, wait time.Duration) ErrorPolicy {
	p.p.Retry, p.p.Wait = n, wait
	return p
}

// Permanent marks err as one that no retry can mend.
func Permanent(err error) error { return &flow.PermanentError{Err: err} }
