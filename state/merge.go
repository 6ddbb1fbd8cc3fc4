package state

import (
	"sort"
	"strings"
)

// merge calls f with the rows whose keys are in [lo, hi), in their order, until
// it returns false: those given, which are sorted, and those that only Pebble
// has. The latter are made for the call. Deleted rows are not shown; they hide
// what Pebble still has.
func (w *Writeback[V]) merge(lo, hi string, cached []*Row[V], f func(*Row[V]) (bool, error)) error {
	next := sort.Search(len(cached), func(i int) bool { return cached[i].key >= lo })
	stopped := false
	show := func(r *Row[V]) (bool, error) {
		if r.Deleted {
			return true, nil
		}
		more, err := f(r)
		stopped = !more
		return more, err
	}
	err := w.part.scan(rowKind, lo, hi, func(k, v []byte) (bool, error) {
		hidden := false
		for next < len(cached) && cached[next].key <= string(k) {
			hidden = cached[next].key == string(k)
			next++
			if more, err := show(cached[next-1]); !more || err != nil {
				return false, err
			}
		}
		if hidden {
			return true, nil
		}
		r, err := w.load(string(k), v)
		if err != nil {
			return false, err
		}
		return show(r)
	})
	for err == nil && !stopped && next < len(cached) && (hi == "" || cached[next].key < hi) {
		next++
		_, err = show(cached[next-1])
	}
	return err
}

func byKey[V any](a, b *Row[V]) int { return strings.Compare(a.key, b.key) }
