package state

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
)

// childDir is where TestOpenInAnotherProcess tells its child which directory to
// open.
const childDir = "WEIR_STATE_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		_, err := Open(Options{Dir: dir})
		fmt.Println(err)
		return
	}
	os.Exit(m.Run())
}

func TestOneProcessPerDirectory(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(Options{Dir: dir, MemoryLimit: 4 << 20})
	require.NoError(t, err)
	const message = "is it in use by another process? Each needs a directory of its own"

	_, err = Open(Options{Dir: dir})
	require.ErrorContains(t, err, message)
	require.ErrorContains(t, err, "state directory "+dir)

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	out, err := child.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), message)

	require.NoError(t, db.Close())
	db, err = Open(Options{Dir: dir})
	require.NoError(t, err, "a closed one is free")
	require.NoError(t, db.Close())
}

func TestDirectoryThatCannotBe(t *testing.T) {
	file := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Open(Options{Dir: file})
	require.ErrorContains(t, err, "state directory "+file+": cannot open the database")
	require.NotContains(t, err.Error(), "another process")
}

func TestLeases(t *testing.T) {
	db := tempDB(t)
	desc := Descriptor{Name: "counts", Kind: "key-value"}
	p, err := db.Lease(desc, 3)
	require.NoError(t, err)
	require.Equal(t, "counts", p.Name())
	require.EqualValues(t, 3, p.Number())
	_, err = db.Lease(desc, 3)
	require.ErrorIs(t, err, ErrLeased)
	require.ErrorContains(t, err, "store counts, partition 3:")
	other, err := db.Lease(desc, 4)
	require.NoError(t, err)
	other.Release()
	p.Release()
	again, err := db.Lease(desc, 3)
	require.NoError(t, err)
	p.Release() // does not take the lease of its successor away
	_, err = db.Lease(desc, 3)
	require.ErrorIs(t, err, ErrLeased)
	again.Release()
}

func TestDescriptorsMustFit(t *testing.T) {
	fs := vfs.NewMem()
	db := openDB(t, fs)
	desc := Descriptor{Name: "views", Kind: "window", Window: "tumbling 1m0s", Key: "string", Value: "int64"}
	p, err := db.Lease(desc, 0)
	require.NoError(t, err)
	p.Release()
	require.NoError(t, db.Close())

	db = openDB(t, fs) // also after a restart
	defer func() { require.NoError(t, db.Close()) }()
	changed := desc
	changed.Window, changed.Value = "tumbling 2m0s", "string"
	_, err = db.Lease(changed, 0)
	require.EqualError(t, err, `store views does not fit the state directory: its window is "tumbling 2m0s" here and "tumbling 1m0s" there; `+
		`its value encoding is "string" here and "int64" there; give the operator another name, or reset the application`)
	_, err = db.Lease(desc, 1)
	require.NoError(t, err)
	for _, other := range []Descriptor{{}, {Name: "view"}, {Name: "viewss"}} {
		p, err := db.Lease(other, 0)
		require.NoError(t, err)
		require.NotEqual(t, rangePrefix(1, 0), p.prefix, "every store has a range of its own")
	}
}

func TestPositionsThatAreNone(t *testing.T) {
	p := lease(t, tempDB(t), "key-value")
	require.NoError(t, p.db.pebble.Set(p.key(positionKind, ""), []byte("short"), pebble.NoSync))
	_, _, err := p.Position()
	require.ErrorContains(t, err, "recorded position has 5 bytes, want 16")
}

// Tasks use their partitions at the same time, hand them on, and nobody sees
// anybody else's rows.
func TestPartitionsAtTheSameTime(t *testing.T) {
	db := tempDB(t)
	var tasks sync.WaitGroup
	for i := range 8 {
		tasks.Go(func() {
			k := kindsOfStores[i%len(kindsOfStores)]
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for round := range 5 {
				p, err := db.Lease(Descriptor{Name: k.name, Kind: k.name}, int32(i))
				if err != nil {
					t.Error(err)
					return
				}
				if err := useConcurrently(r, k, p, fmt.Sprintf("task %d ", i), round); err != nil {
					t.Error(err)
				}
				p.Release()
				if _, err := db.Ranges(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	tasks.Go(func() {
		for range 20 {
			if err := db.Checkpoint(); err != nil {
				t.Error(err)
			}
			_, _ = db.Metrics(), db.DiskBytes()
		}
	})
	tasks.Wait()
}

func useConcurrently(r *rand.Rand, k kindOfStore, p *Partition, value string, round int) error {
	s, err := k.open(p, discardLog{}, serde.String)
	if err != nil {
		return err
	}
	for n := int64(1); n <= 10; n++ {
		for range 20 {
			if _, err := k.put(s, fmt.Sprintf("key %d", r.IntN(50)), value); err != nil {
				return err
			}
		}
		if err := s.Flush(n, nil); err != nil {
			return err
		}
		s.Committed(n, Position{Offset: int64(round)*1000 + n})
		if _, err := s.WriteBehind(n, math.MaxInt); err != nil {
			return err
		}
		s.Evict(r.Int64N(4000))
	}
	rows := 0
	err = s.All(func(key string, row *Row[string]) bool {
		if rows++; row.Value != value {
			err = fmt.Errorf("row %q is %q, want %q", key, row.Value, value)
		}
		return true
	})
	if err == nil && rows == 0 {
		err = fmt.Errorf("%sfinds no rows", value)
	}
	return err
}
