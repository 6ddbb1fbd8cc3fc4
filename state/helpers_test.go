package state

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// start is the progress of a store that has closed nothing.
var start = Progress{Closed: math.MinInt64}

// discardLog is a changelog that nobody reads.
type discardLog struct{}

func (discardLog) Append(string, []byte, int64) {}

func openDB(t testing.TB, fs vfs.FS) *DB {
	t.Helper()
	db, err := Open(Options{Dir: "state", FS: fs, MemoryLimit: 4 << 20, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return db
}

// tempDB is a database in memory that is closed with the test.
func tempDB(t testing.TB) *DB {
	db := openDB(t, vfs.NewMem())
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func lease(t testing.TB, db *DB, kind string) *Partition {
	t.Helper()
	p, err := db.Lease(Descriptor{Name: kind + "s", Kind: kind}, 0)
	require.NoError(t, err)
	return p
}

// A store is what all kinds have in common.
type store interface {
	Flush(commit int64, visit func(*Row[string]) error) error
	Committed(commit int64, pos Position)
	WriteBehind(due int64, limit int) (int, error)
	Evict(n int64) int64
	Bytes() int64
	Dirty() int
	Unwritten() int
	All(f func(key string, r *Row[string]) bool) error
}

// A kindOfStore opens stores of a kind, and puts a row into one.
type kindOfStore struct {
	name string
	open func(p *Partition, log Changelog, s serde.Serde[string]) (store, error)
	put  func(s store, key, value string) (*Row[string], error)
}

var (
	tenMs  = window.Tumbling(10 * time.Millisecond)
	gap5Ms = window.Gap(5 * time.Millisecond)
)

var kindsOfStores = []kindOfStore{
	{"key-value", func(p *Partition, log Changelog, s serde.Serde[string]) (store, error) {
		return OpenKeyValue(p, log, s)
	}, func(s store, key, value string) (*Row[string], error) {
		kv := s.(*KeyValue[string])
		r, _, err := kv.Upsert([]byte(key))
		if err == nil {
			r.Value = value
			kv.Touch(r)
		}
		return r, err
	}},
	{"window", func(p *Partition, log Changelog, s serde.Serde[string]) (store, error) {
		return OpenWindow(p, log, s, tenMs, start)
	}, func(s store, key, value string) (*Row[string], error) {
		w := s.(*Window[string])
		r, _, err := w.Upsert(20, []byte(key))
		if err == nil {
			r.Value = value
			w.Touch(r)
		}
		return r, err
	}},
	{"session", func(p *Partition, log Changelog, s serde.Serde[string]) (store, error) {
		return OpenSession(p, log, s, gap5Ms, start)
	}, func(s store, key, value string) (*Row[string], error) {
		ses := s.(*Session[string])
		g, err := ses.Of([]byte(key))
		if err != nil {
			return nil, err
		}
		if len(g.Rows) == 0 {
			ses.Insert(g, 20, 20)
		}
		g.Rows[0].Value = value
		ses.Touch(g.Rows[0])
		return g.Rows[0], nil
	}},
}

// commit flushes and commits, each commit at its own offset.
func commit(t testing.TB, s store, n int64) {
	t.Helper()
	require.NoError(t, s.Flush(n, nil))
	s.Committed(n, Position{Offset: n * 10, Wall: n})
}

// written commits and writes everything behind.
func commitAndWrite(t testing.TB, s store, n int64) {
	t.Helper()
	commit(t, s, n)
	_, err := s.WriteBehind(n, math.MaxInt)
	require.NoError(t, err)
	require.Zero(t, s.Unwritten())
}

func all(t testing.TB, s store) (keys []string) {
	t.Helper()
	require.NoError(t, s.All(func(key string, r *Row[string]) bool {
		keys = append(keys, key+"="+r.Value)
		return true
	}))
	return keys
}
