// Package watermark tracks the progress of event time.
//
// A watermark of w says that no record older than w is expected. It is born in a source partition ([Partition]: the
// greatest event time seen, less a bound), crosses repartition topics in control records ([AppendControl], [Upstreams])
// and meets the watermarks of a task's other inputs in a [Merge]. A partition that has nothing to read may be left out of
// the minimum, but only after it was proved to be at its end ([Idleness]).
//
// Each record that crosses a repartition topic also carries the watermark of its own source partition ([AppendCarried]),
// by which it is judged late or not: so the answer depends on the records and not on when they arrive.
//
// Everything here is a pure state machine over int64 milliseconds. It reads no clock and starts no goroutine; unless said
// otherwise the types are not safe for concurrent use, since each belongs to one task.
package watermark

import "math"

// None is the watermark before anything is known. It is below every time.
const None int64 = math.MinInt64

// Infinite is the watermark at the end of a bounded run. It is above every time.
const Infinite int64 = math.MaxInt64

// satAdd returns a+b for b >= 0, or Infinite where the sum is beyond it.
func satAdd(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return Infinite
}
