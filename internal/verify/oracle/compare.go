package oracle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Same compares got with want: every key must have the same values in the same
// order, and as many of them. The error shows the first difference of each of
// some keys.
func (want History) Same(got History) error {
	return want.compare(got, func(want, got []string) (int, string) {
		for i := range max(len(want), len(got)) {
			switch {
			case i >= len(got):
				return i, "a value is missing"
			case i >= len(want):
				return i, "a value is too much"
			case want[i] != got[i]:
				return i, "another value"
			}
		}
		return -1, ""
	})
}

// Coalesced compares what got shows of changes that were told once per commit,
// at most: the values that it shows of a key must occur in want, in that order
// and none twice, and the last must be the last. A key that came and went in
// between may never have been told; one that was never told cannot go.
func (want History) Coalesced(got History) error {
	return want.compare(got, func(want, got []string) (int, string) {
		next := 0
		for i, v := range got {
			n := slices.Index(want[next:], v)
			switch {
			case n < 0:
				return i, "a value that it never had, or had before"
			case v == Gone && (i == 0 || got[i-1] == Gone):
				return i, "it went without having been there"
			}
			next += n + 1
		}
		last := Gone
		if len(want) > 0 {
			last = want[len(want)-1]
		}
		if len(got) == 0 && last != Gone || len(got) > 0 && got[len(got)-1] != last {
			return len(got), "it ends with another value"
		}
		return -1, ""
	})
}

// shown is how many keys an error tells of.
const shown = 3

func (want History) compare(got History, differ func(want, got []string) (at int, why string)) error {
	keys := map[string]bool{}
	for k := range want {
		keys[k] = true
	}
	for k := range got {
		keys[k] = true
	}
	var errs []error
	wrong := 0
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		at, why := differ(want[k], got[k])
		if at < 0 {
			continue
		}
		if wrong++; wrong <= shown {
			errs = append(errs, fmt.Errorf("key %q, value %d: %s; want %s, got %s", k, at, why, around(want[k], at), around(got[k], at)))
		}
	}
	if wrong > shown {
		errs = append(errs, fmt.Errorf("and %d more of %d keys", wrong-shown, len(keys)))
	}
	return errors.Join(errs...)
}

// around shows a list near an index.
func around(list []string, at int) string {
	const near = 5
	lo, hi := min(max(at-near, 0), len(list)), min(at+near+1, len(list))
	return fmt.Sprintf("[%d..%d) of %d: %s", lo, hi, len(list), strings.Join(list[lo:hi], " "))
}
