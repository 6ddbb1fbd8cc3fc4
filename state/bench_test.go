package state

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// keysOf returns n keys of eight bytes, in no order.
func keysOf(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = binary.BigEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15)
	}
	return keys
}

func benchDB(b *testing.B) *DB {
	db, err := Open(Options{Dir: "state", FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	return db
}

func benchWindow(b *testing.B) *Window[int64] {
	p, err := benchDB(b).Lease(Descriptor{Name: "bench", Kind: "window"}, 0)
	require.NoError(b, err)
	s, err := OpenWindow(p, discardLog{}, serde.Int64, window.Tumbling(time.Minute), start)
	require.NoError(b, err)
	return s
}

// A record that updates a key that is at hand.
func BenchmarkWindowHotKey(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			s, keys := benchWindow(b), keysOf(n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r, _, err := s.Upsert(60_000, keys[i])
				if err != nil {
					b.Fatal(err)
				}
				r.Value++
				s.Touch(r)
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}

// A record that opens a row of a new window.
func BenchmarkWindowNewKey(b *testing.B) {
	s, keys := benchWindow(b), keysOf(10_000)
	b.ReportAllocs()
	window, i := int64(0), 0
	for b.Loop() {
		r, _, err := s.Upsert(window, keys[i])
		if err != nil {
			b.Fatal(err)
		}
		r.Value++
		if i++; i == len(keys) {
			i, window = 0, window+60_000
			if err := s.Discard(window, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// The barrier of a commit with 10,000 rows, in rows.
func BenchmarkFlush10k(b *testing.B) { benchCommit(b, false) }

// The same, and all of them written to Pebble.
func BenchmarkFlushAndWrite10k(b *testing.B) { benchCommit(b, true) }

func benchCommit(b *testing.B, write bool) {
	s, keys := benchWindow(b), keysOf(10_000)
	b.ReportAllocs()
	for n := int64(1); b.Loop(); n++ {
		for _, k := range keys {
			r, _, err := s.Upsert(60_000, k)
			if err != nil {
				b.Fatal(err)
			}
			r.Value, r.Time = n, n
			s.Touch(r)
		}
		err := s.Flush(n, nil)
		s.Committed(n, Position{Offset: n * 10_000})
		if write && err == nil {
			_, err = s.WriteBehind(n, math.MaxInt)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/row")
}

// A key that Pebble has to be asked for: one that is there, or is not.
func BenchmarkColdKey(b *testing.B) {
	const rows = 200_000
	for _, kind := range []string{"hit", "miss"} {
		b.Run(kind, func(b *testing.B) {
			s, keys := benchWindow(b), keysOf(2*rows)
			for i, k := range keys[:rows] {
				r, _, err := s.Upsert(60_000, k)
				require.NoError(b, err)
				s.Touch(r)
				if i == rows-1 || i%20_000 == 0 {
					commitAndWriteInts(b, s, int64(i+1))
				}
			}
			require.NoError(b, s.part.db.Checkpoint())
			s.Evict(math.MaxInt64)
			if kind == "miss" {
				keys = keys[rows:]
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := s.part.get(sortable(60_000)+string(keys[i]), func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
				if i++; i == rows {
					i = 0
				}
			}
		})
	}
}

func commitAndWriteInts(b *testing.B, s *Window[int64], n int64) {
	require.NoError(b, s.Flush(n, nil))
	s.Committed(n, Position{Offset: n})
	_, err := s.WriteBehind(n, math.MaxInt)
	require.NoError(b, err)
}

// A window of many rows that is closed in steps.
func BenchmarkClose(b *testing.B) {
	const rows = 100_000
	s, keys := benchWindow(b), keysOf(rows)
	b.ReportAllocs()
	for w := int64(0); b.Loop(); w += 60_000 {
		b.StopTimer()
		for _, k := range keys {
			if _, _, err := s.Upsert(w, k); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		for more := true; more; {
			var err error
			more, err = s.Close(w+60_000, 1000, func(*Row[int64]) error { return nil })
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}

// A record that makes one of 10,000 keys' sessions grow.
func BenchmarkSessionGrows(b *testing.B) {
	p, err := benchDB(b).Lease(Descriptor{Name: "bench", Kind: "session"}, 0)
	require.NoError(b, err)
	s, err := OpenSession(p, discardLog{}, serde.Int64, window.Gap(time.Minute), start)
	require.NoError(b, err)
	keys := keysOf(10_000)
	b.ReportAllocs()
	i := 0
	for ms := int64(0); b.Loop(); ms++ {
		g, err := s.Of(keys[i])
		if err != nil {
			b.Fatal(err)
		}
		if len(g.Rows) == 0 {
			s.Insert(g, ms, ms)
		}
		r := g.Rows[0]
		r.Value, r.Last = r.Value+1, ms
		s.Touch(r)
		if i++; i == len(keys) {
			i = 0
		}
	}
}
