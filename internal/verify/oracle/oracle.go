// Package oracle recomputes what an application must have made of its input:
// record by record, by the definitions, in the plainest way. It imports nothing
// of the engine, so that no mistake is made twice.
//
// Results are histories: for every key, all values that it had, in order, as
// text. What has an end of time in its key has it in the text of the key, see
// Key. A key that was taken away again, as sessions are that grow, has Gone as
// its value from then on.
package oracle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Record is one record of the input. Times are ms since the epoch.
type Record[V any] struct {
	Partition int32
	Key       string
	Time      int64
	Value     V

	// Carried is the watermark of the record's partition before it: MinInt64
	// before the first. Carry computes it.
	Carried int64
}

// A Fold is an aggregation, and how its results are written.
type Fold[V, A any] struct {
	Add   func(a A, v V, existed bool) A
	Merge func(a, b A) A // of sessions, the earlier one first
	Text  func(A) string
}

// A History is what became of every key.
type History map[string][]string

// Gone is the value of a key that was taken away.
const Gone = "(gone)"

// Key is the text of a window's key.
func Key(key string, start, end int64) string { return fmt.Sprintf("%s|%d|%d", key, start, end) }

// Carry gives every record the watermark of its partition before it. The records
// of each partition must be in their order; bound is that of the watermarks, ms.
func Carry[V any](records []Record[V], bound int64) {
	at := map[int32]int64{}
	for i := range records {
		r := &records[i]
		w, ok := at[r.Partition]
		if !ok {
			w = math.MinInt64
		}
		r.Carried = w
		at[r.Partition] = max(w, r.Time-bound)
	}
}

// Lists is the history of a stream that is passed on: the values of every key.
func Lists[V any](records []Record[V], text func(V) string) History {
	h := History{}
	for _, r := range records {
		h[r.Key] = append(h[r.Key], text(r.Value))
	}
	return h
}

// Running is the history of an aggregate without windows.
func Running[V, A any](records []Record[V], f Fold[V, A]) History {
	h, now := History{}, map[string]A{}
	for _, r := range records {
		a, existed := now[r.Key]
		now[r.Key] = f.Add(a, r.Value, existed)
		h[r.Key] = append(h[r.Key], f.Text(now[r.Key]))
	}
	return h
}

// Tumbling is the history of an aggregate in tumbling windows [start, end), and
// how many records were late. A record is late if its window's end and grace are
// not after the watermark that it carries.
func Tumbling[V, A any](records []Record[V], size, grace int64, f Fold[V, A]) (h History, late int) {
	h, now := History{}, map[string]A{}
	for _, r := range records {
		start := r.Time - mod(r.Time, size)
		if start+size+grace <= r.Carried {
			late++
			continue
		}
		k := Key(r.Key, start, start+size)
		a, existed := now[k]
		now[k] = f.Add(a, r.Value, existed)
		h[k] = append(h[k], f.Text(now[k]))
	}
	return h, late
}

func mod(a, b int64) int64 { return ((a % b) + b) % b }

// A session holds the records of one key at most gap apart.
type session[A any] struct {
	first, last int64
	value       A
}

// Sessions is the history of an aggregate in sessions [first, last], keyed by
// [first, last+1), and how many records were late. A record is late if the
// session that it would make ends so early that gap and grace do not reach the
// watermark that it carries. What comes of a record depends on the schedule if
// it bridges sessions of which only some could still be open: that is an error
// of the input, which is then of no use to compare with.
func Sessions[V, A any](records []Record[V], gap, grace int64, f Fold[V, A]) (h History, late int, err error) {
	h = History{}
	open := map[string][]session[A]{}
	for _, r := range records {
		var touched, rest []session[A]
		s := session[A]{first: r.Time, last: r.Time}
		passed := false
		for _, o := range open[r.Key] {
			if r.Time < o.first-gap || r.Time > o.last+gap {
				rest = append(rest, o)
				continue
			}
			touched = append(touched, o)
			s.first, s.last = min(s.first, o.first), max(s.last, o.last)
			passed = passed || o.last+gap+grace < r.Carried
		}
		if s.last+gap+grace < r.Carried {
			late++
			continue
		}
		if passed {
			return nil, 0, fmt.Errorf("record of key %s at %d reaches a session that may be closed", r.Key, r.Time)
		}
		s.value = joined(touched, r.Value, f)
		for _, o := range touched {
			if o.first != s.first || o.last != s.last {
				k := Key(r.Key, o.first, o.last+1)
				h[k] = append(h[k], Gone)
			}
		}
		k := Key(r.Key, s.first, s.last+1)
		h[k] = append(h[k], f.Text(s.value))
		open[r.Key] = append(rest, s)
	}
	return h, late, nil
}

func joined[V, A any](touched []session[A], v V, f Fold[V, A]) A {
	if len(touched) == 0 {
		var zero A
		return f.Add(zero, v, false)
	}
	slices.SortFunc(touched, func(a, b session[A]) int { return cmp.Compare(a.first, b.first) })
	a := touched[0].value
	for _, t := range touched[1:] {
		a = f.Merge(a, t.value)
	}
	return f.Add(a, v, true)
}

// Last is the history in which every key has its last value only, and keys that
// are gone are left out: what final results say, and what a store holds.
func (h History) Last() History {
	last := History{}
	for k, values := range h {
		if v := values[len(values)-1]; v != Gone {
			last[k] = []string{v}
		}
	}
	return last
}

// Only is the history of the keys that satisfy keep.
func (h History) Only(keep func(key string) bool) History {
	some := History{}
	for k, v := range h {
		if keep(k) {
			some[k] = v
		}
	}
	return some
}
