package serde

import (
	"fmt"
	"reflect"
)

// An appender is a writer to the end of a byte slice.
type appender struct{ buf []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.buf = append(a.buf, p...)
	return len(p), nil
}

func (a *appender) WriteByte(c byte) error {
	a.buf = append(a.buf, c)
	return nil
}

// decodeError is the error of bytes that are no value of type t in the given format.
func decodeError(format string, t reflect.Type, size int, err error) error {
	return fmt.Errorf("serde: %s of %d bytes is no %v: %w", format, size, t, err)
}

// recovered, when deferred, turns a panic in a type's own decoding method into an error: bad input must not stop the program.
func recovered(err *error, format string, t reflect.Type, size int) {
	if r := recover(); r != nil {
		*err = decodeError(format, t, size, fmt.Errorf("panic: %v", r))
	}
}
