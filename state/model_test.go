package state

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A subject is a store together with a model of it: plain maps that are changed
// in the same way, by the most direct code.
type subject interface {
	kind() string
	open(p *Partition, log Changelog, at Progress) error

	change(r *rand.Rand) error            // does something to both
	advance(r *rand.Rand, to int64) error // closes what is due, or goes on closing
	closing() bool                        // a closing was interrupted
	over() bool                           // a bounded run has ended
	watermark() int64
	flush(commit int64) error                          // the barrier
	verify() error                                     // everything that can be read is as in the model
	save()                                             // the model as it is now is committed
	revert()                                           // back to the committed model
	progress() Progress                                // of the store
	closed(key string, row []byte, at Progress) bool   // whether a row is closed at some progress
	expected() map[string]string                       // the committed model's rows, described
	besides(rows map[string][]byte, at Progress) error // what there must be besides them
	core() *Writeback[string]
	cached() int64 // the bytes of what is in the cache, counted anew
	Committed(commit int64, pos Position)
	Evict(n int64) int64
}

// A modelRow is what a row should be.
type modelRow struct {
	value   string
	headers string
	time    int64
	start   int64
	last    int64
	shown   int64
}

func (m modelRow) String() string {
	return fmt.Sprintf("%q time %d start %d last %d shown %d headers %s", m.value, m.time, m.start, m.last, m.shown, m.headers)
}

func described(r *Row[string]) string {
	m := modelRow{r.Value, printHeaders(r.Headers), r.Time, r.Start, r.Last, r.Shown}
	return m.String()
}

func printHeaders(hs []kgo.RecordHeader) string {
	s := ""
	for _, h := range hs {
		s += fmt.Sprintf("%s=%#v;", h.Key, h.Value)
	}
	return s
}

func randomHeaders(r *rand.Rand) []kgo.RecordHeader {
	var hs []kgo.RecordHeader
	for range max(0, r.IntN(8)-5) {
		values := [][]byte{nil, {}, []byte("v"), []byte("a longer value")}
		hs = append(hs, kgo.RecordHeader{Key: [...]string{"", "trace"}[r.IntN(2)], Value: values[r.IntN(len(values))]})
	}
	return hs
}

// sameRows compares what an All gave, in order, with a model's rows by key.
func sameRows(gotKeys, got []string, want map[string]string) error {
	if !slices.IsSorted(gotKeys) {
		return fmt.Errorf("rows are not in order: %q", gotKeys)
	}
	for i, k := range gotKeys {
		if i > 0 && gotKeys[i-1] == k {
			return fmt.Errorf("row %q came twice", k)
		}
		if w, ok := want[k]; !ok {
			return fmt.Errorf("row %q should not be there: %s", k, got[i])
		} else if w != got[i] {
			return fmt.Errorf("row %q is %s\nwant %s", k, got[i], w)
		}
	}
	if len(gotKeys) != len(want) {
		return fmt.Errorf("%d rows, want %d: got %q, want %q", len(gotKeys), len(want), gotKeys, slices.Sorted(maps.Keys(want)))
	}
	return nil
}
