package state

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
)

// forKinds runs a test for each kind of store, opened on an empty partition.
func forKinds(t *testing.T, f func(t *testing.T, k kindOfStore, p *Partition, s store)) {
	for _, k := range kindsOfStores {
		t.Run(k.name, func(t *testing.T) {
			p := lease(t, tempDB(t), k.name)
			s, err := k.open(p, discardLog{}, serde.String)
			require.NoError(t, err)
			f(t, k, p, s)
		})
	}
}

func TestScansSeeTheOpenTransaction(t *testing.T) {
	forKinds(t, func(t *testing.T, k kindOfStore, _ *Partition, s store) {
		for _, key := range []string{"d", "b", "a"} {
			_, err := k.put(s, key, "1")
			require.NoError(t, err)
		}
		commitAndWrite(t, s, 1)
		require.Positive(t, s.Evict(math.MaxInt64))
		_, err := k.put(s, "b", "2")
		require.NoError(t, err)
		_, err = k.put(s, "c", "2")
		require.NoError(t, err)
		require.Equal(t, []string{"a=1", "b=2", "c=2", "d=1"}, all(t, s))
		n := 0
		require.NoError(t, s.All(func(string, *Row[string]) bool { n++; return n < 2 }))
		require.Equal(t, 2, n, "a scan stops when it is told to")
	})
}

func TestWriteBehindNeedsACommit(t *testing.T) {
	forKinds(t, func(t *testing.T, k kindOfStore, p *Partition, s store) {
		refused := func() {
			t.Helper()
			_, err := s.WriteBehind(9, math.MaxInt)
			require.ErrorContains(t, err, "store "+k.name+"s, partition 0: cannot write behind: changes since commit 0 are not committed")
		}
		_, err := k.put(s, "a", "1")
		require.NoError(t, err)
		refused()
		require.NoError(t, s.Flush(1, nil))
		refused()
		_, ok, err := p.Position()
		require.NoError(t, err)
		require.False(t, ok)
	})
}

func TestCommitNumbersRise(t *testing.T) {
	forKinds(t, func(t *testing.T, _ kindOfStore, _ *Partition, s store) {
		require.ErrorContains(t, s.Flush(0, nil), "cannot flush: commit 0 follows 0")
		commit(t, s, 3)
		require.Error(t, s.Flush(3, nil))
		require.NoError(t, s.Flush(5, nil))
		require.Error(t, s.Flush(4, nil))
		require.NoError(t, s.Flush(5, nil), "a commit may have several barriers")
	})
}

// The position passes a key that changes in every commit, and stops before one
// that is not written yet.
func TestPositionPassesHotKeys(t *testing.T) {
	forKinds(t, func(t *testing.T, k kindOfStore, p *Partition, s store) {
		for n := int64(1); n <= 5; n++ {
			_, err := k.put(s, "hot", fmt.Sprint(n))
			require.NoError(t, err)
			if n == 2 {
				_, err = k.put(s, "cold", "2")
				require.NoError(t, err)
			}
			commit(t, s, n)
		}
		for _, step := range []struct{ due, wrote, position int64 }{{0, 0, 0}, {1, 1, 10}, {1, 0, 10}, {2, 1, 50}} {
			n, err := s.WriteBehind(step.due, math.MaxInt)
			require.NoError(t, err)
			require.EqualValues(t, step.wrote, n, "due %d", step.due)
			pos, _, err := p.Position()
			require.NoError(t, err)
			require.Equal(t, step.position, pos.Offset, "due %d", step.due)
		}
		require.Zero(t, s.Unwritten())
	})
}

func TestNothingIsWrittenAfterRelease(t *testing.T) {
	forKinds(t, func(t *testing.T, k kindOfStore, p *Partition, s store) {
		_, err := k.put(s, "a", "1")
		require.NoError(t, err)
		commit(t, s, 1)
		p.Release()
		p.Release() // once is enough, twice does no harm
		again, err := p.db.Lease(Descriptor{Name: k.name + "s", Kind: k.name}, 0)
		require.NoError(t, err)
		_, err = s.WriteBehind(1, 10)
		require.ErrorContains(t, err, "store "+k.name+"s, partition 0: cannot write: its lease was given up")
		require.ErrorContains(t, p.Restore(nil, Position{}, false), "its lease was given up")
		require.ErrorContains(t, p.Clear(), "its lease was given up")
		rows, err := rowsOf(again)
		require.NoError(t, err)
		require.Empty(t, rows)
	})
}

// brokenSerde cannot encode some values and cannot decode any.
type brokenSerde struct{}

func (brokenSerde) Append(dst []byte, v string) ([]byte, error) {
	if v == "bad" {
		return dst, errors.New("no such value")
	}
	return append(dst, v...), nil
}
func (brokenSerde) Decode([]byte) (string, error) { return "", errors.New("not what I wrote") }

func TestErrorsNameStoreAndKey(t *testing.T) {
	for _, k := range kindsOfStores {
		t.Run(k.name, func(t *testing.T) {
			p := lease(t, tempDB(t), k.name)
			s, err := k.open(p, discardLog{}, brokenSerde{})
			require.NoError(t, err)
			_, err = k.put(s, "key", "good")
			require.NoError(t, err)
			commitAndWrite(t, s, 1)
			s.Evict(math.MaxInt64)
			for _, err := range []error{
				s.All(func(string, *Row[string]) bool { return true }),
				func() error { _, err := k.put(s, "key", "good"); return err }(),
			} {
				require.ErrorContains(t, err, "store "+k.name+"s, partition 0: cannot decode the row of key")
				require.ErrorContains(t, err, "not what I wrote")
			}
			_, err = k.put(s, "other", "bad")
			require.NoError(t, err)
			err = s.Flush(2, nil)
			require.ErrorContains(t, err, "store "+k.name+"s, partition 0: cannot encode the value of key")
			require.ErrorContains(t, err, "no such value")
		})
	}
}

// Rows of a changelog that are no rows are errors, not panics.
func TestCorruptRows(t *testing.T) {
	for _, k := range kindsOfStores {
		t.Run(k.name, func(t *testing.T) {
			for _, c := range []Change{
				{"", nil}, {"", []byte{}}, {"k", []byte{}}, {"k", []byte{9, 9, 9}}, {"\x0099999999", []byte{rowVersion, 0, 0}},
			} {
				p := lease(t, tempDB(t), k.name)
				err := p.Restore([]Change{c}, Position{Offset: 1}, k.name == "session")
				if err != nil {
					continue
				}
				s, err := k.open(p, discardLog{}, serde.String)
				if err != nil {
					continue
				}
				_ = s.All(func(string, *Row[string]) bool { return true })
				_, _ = k.put(s, "k", "v")
			}
		})
	}
}

func TestBytesReturnToZero(t *testing.T) {
	forKinds(t, func(t *testing.T, k kindOfStore, _ *Partition, s store) {
		for i := range 100 {
			_, err := k.put(s, fmt.Sprint(i), "some value")
			require.NoError(t, err)
		}
		require.GreaterOrEqual(t, s.Bytes(), int64(100*rowOverhead))
		require.Zero(t, s.Evict(math.MaxInt64), "dirty rows stay")
		commit(t, s, 1)
		require.Zero(t, s.Evict(math.MaxInt64), "rows that Pebble does not hold stay")
		_, err := s.WriteBehind(1, 50)
		require.NoError(t, err)
		before := s.Bytes()
		freed := s.Evict(1000)
		require.GreaterOrEqual(t, freed, int64(1000))
		require.Less(t, freed, int64(2000), "no more than was asked for")
		require.Equal(t, before-freed, s.Bytes())
		s.Evict(math.MaxInt64)
		require.InDelta(t, before/2, s.Bytes(), float64(before)/10)
		_, err = s.WriteBehind(1, 50)
		require.NoError(t, err)
		s.Evict(math.MaxInt64)
		require.Zero(t, s.Bytes())
		require.Len(t, all(t, s), 100)
	})
}

// What was closed before it was written does not hold the position.
func TestClosedRowsDoNotHoldThePosition(t *testing.T) {
	forKinds(t, func(t *testing.T, k kindOfStore, p *Partition, s store) {
		closer, ok := s.(interface {
			Close(watermark int64, limit int, visit func(*Row[string]) error) (bool, error)
		})
		if !ok {
			return
		}
		_, err := k.put(s, "key", "v")
		require.NoError(t, err)
		commit(t, s, 1)
		_, err = closer.Close(1000, 10, func(*Row[string]) error { return nil })
		require.NoError(t, err)
		commit(t, s, 2)
		n, err := s.WriteBehind(0, 10)
		require.NoError(t, err)
		require.Zero(t, n)
		pos, _, err := p.Position()
		require.NoError(t, err)
		require.EqualValues(t, 20, pos.Offset)
	})
}
