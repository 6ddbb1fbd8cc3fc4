package model

import (
	"cmp"
	"slices"
)

// A Pair is a window of windows.
type Pair struct {
	Partition  int // as of a Window
	Key        string
	Start, End int64
	Windows    []Window
}

// Chain puts final windows, as records at their last millisecond, into tumbling
// windows of that size. None of them is ever late.
func Chain(finals []Window, size int64) []Pair {
	var pairs []Pair
	for _, w := range finals {
		at := w.End - 1
		start := at
		for start%size != 0 {
			start--
		}
		i := slices.IndexFunc(pairs, func(p Pair) bool {
			return p.Partition == w.Partition && p.Key == w.Key && p.Start == start
		})
		if i < 0 {
			i, pairs = len(pairs), append(pairs, Pair{w.Partition, w.Key, start, start + size, nil})
		}
		pairs[i].Windows = append(pairs[i].Windows, w)
	}
	slices.SortStableFunc(pairs, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Key, b.Key)) })
	return pairs
}
