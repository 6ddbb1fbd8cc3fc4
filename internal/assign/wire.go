package assign

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Both messages start with wireMagic and a version. A version that a reader does not know is an error. Within a version they end in
// sections: a count, then tag, length and bytes of each, tags ascending. A reader skips tags it does not know, so new facts about a
// member (a query endpoint, standbys, warm-ups) can be sent to leaders that predate them.
//
// Numbers are unsigned varints in their shortest form, strings and sections are preceded by their length, tasks are sorted. There is
// one way to write a message, and a parser takes no other.
const (
	wireMagic   = 'W'
	wireVersion = 1
)

var errWire = errors.New("malformed")

// encodeHeader starts a message.
func encodeHeader() []byte { return []byte{wireMagic, wireVersion} }

func appendNumber(b []byte, n int64) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendString(b []byte, s string) []byte { return append(appendNumber(b, int64(len(s))), s...) }

func appendTask(b []byte, t Task) []byte {
	return appendNumber(appendNumber(b, int64(t.Sub)), int64(t.Partition))
}

// appendTasks writes sorted tasks.
func appendTasks(b []byte, tasks []Task) []byte {
	b = appendNumber(b, int64(len(tasks)))
	for _, t := range tasks {
		b = appendTask(b, t)
	}
	return b
}

// A wireReader parses a message. After the first mistake every read returns zero; finish tells.
type wireReader struct {
	rest []byte
	err  error
}

// newWireReader checks a message's header.
func newWireReader(b []byte) *wireReader {
	r := &wireReader{rest: b}
	if len(b) < 2 || b[0] != wireMagic {
		r.fail("it does not start as Weir's do")
	} else if b[1] != wireVersion {
		r.fail(fmt.Sprintf("version %d is not %d", b[1], wireVersion))
	} else {
		r.rest = b[2:]
	}
	return r
}

func (r *wireReader) fail(why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errWire, why)
	}
	r.rest = nil
}

// number reads a number between 0 and limit.
func (r *wireReader) number(limit int64) int64 {
	if r.err != nil {
		return 0
	}
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || (size > 1 && r.rest[size-1] == 0) || n > uint64(limit) {
		r.fail("a number is cut off, too long or too large")
		return 0
	}
	r.rest = r.rest[size:]
	return int64(n)
}

// length reads how many items follow, each of at least size bytes.
func (r *wireReader) length(size int) int {
	n := int(r.number(math.MaxInt32))
	if n > len(r.rest)/size {
		r.fail("it is cut off")
		return 0
	}
	return n
}

func (r *wireReader) text() string {
	n := r.length(1)
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *wireReader) flag() bool { return r.number(1) == 1 }

// task reads a task that must come after the one before.
func (r *wireReader) task(before Task) Task {
	t := Task{int32(r.number(math.MaxInt32)), int32(r.number(math.MaxInt32))}
	if r.err == nil && compareTasks(t, before) <= 0 {
		r.fail("tasks are not sorted")
	}
	return t
}

func (r *wireReader) tasks() []Task {
	var tasks []Task
	last := Task{-1, -1}
	for range r.length(2) {
		last = r.task(last)
		tasks = append(tasks, last)
	}
	return tasks
}

// sections skips the sections, of which this version knows none.
func (r *wireReader) sections() {
	last := int64(-1)
	for range r.length(2) {
		tag := r.number(math.MaxInt32)
		if tag <= last {
			r.fail("sections are not sorted")
		}
		last = tag
		r.text()
	}
}

// finish returns the first mistake; bytes left over are one.
func (r *wireReader) finish() error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail("there are bytes behind its end")
	}
	return r.err
}
