package operator

import (
	"errors"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/window"
)

// openBy makes a rig whose stores are opened by open.
func openBy(t *testing.T, open flow.OpenStore) *rig {
	r := newRig(t)
	r.task = flow.NewTask(0, 5, r, r.task.Names, open)
	return r
}

// A store that cannot be opened is no operator.
func TestStoresThatDoNotOpen(t *testing.T) {
	for name, k := range kinds {
		r := openBy(t, func(int, state.Descriptor) (*state.Partition, state.Changelog, state.Progress, error) {
			return nil, nil, state.Progress{}, errors.New("no store")
		})
		push, err := k.build(r.task, sums(name))
		require.EqualError(t, err, "no store")
		require.Nil(t, push)
		require.Empty(t, r.task.Stateful())
	}
}

// unread is a changelog that nobody reads.
type unread struct{}

func (unread) Append(string, []byte, int64) {}

// unreadable leases a partition of one row, on a disk that does not let itself
// be read any more.
func unreadable(t *testing.T, d state.Descriptor) *state.Partition {
	isBroken := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
			return errors.New("broken disk")
		}
		return nil
	})}
	fs := errorfs.Wrap(vfs.NewMem(), isBroken)
	open := func() (*state.DB, *state.Partition) {
		db, err := state.Open(state.Options{Dir: "state", FS: fs, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		part, err := db.Lease(d, 5)
		require.NoError(t, err)
		return db, part
	}
	db, part := open()
	keys, err := state.OpenKeyValue(part, unread{}, serde.Int64)
	require.NoError(t, err)
	row, _, err := keys.Upsert([]byte("k"))
	require.NoError(t, err)
	keys.Touch(row)
	require.NoError(t, keys.Flush(1, nil))
	keys.Committed(1, state.Position{Offset: 1})
	_, err = keys.WriteBehind(math.MaxInt64, math.MaxInt)
	require.NoError(t, err)
	require.NoError(t, db.Checkpoint())
	part.Release()
	require.NoError(t, db.Close())

	db, part = open()
	t.Cleanup(func() {
		part.Release()
		require.NoError(t, db.Close())
	})
	isBroken.On()
	return part
}

func TestBrokenDisks(t *testing.T) {
	for name, k := range kinds {
		r := openBy(t, func(_ int, d state.Descriptor) (*state.Partition, state.Changelog, state.Progress, error) {
			return unreadable(t, d), unread{}, state.Progress{Closed: math.MinInt64}, nil
		})
		push, err := k.build(r.task, sums(name))
		require.ErrorContains(t, err, "broken disk", name)
		require.Nil(t, push)
		require.Empty(t, r.task.Stateful())
	}
}

// forgetful is a serde of what it cannot read again.
type forgetful struct {
	serde.Serde[int64]
	asked *int
}

func (f forgetful) Decode([]byte) (int64, error) {
	*f.asked++
	return 0, errors.New("forgotten")
}

// forgotten is an aggregation of an operator whose row for the key "k" at 3
// cannot be read again.
func forgotten(t *testing.T, name string, build builder) (a *aggregation, asked *int) {
	spec := sums(name)
	asked = new(int)
	spec.Value = forgetful{serde.Int64, asked}
	a = newAggregation(t, spec, build)
	a.at(3, "k", 1)
	a.commit(0)
	_, err := a.op.WriteBehind(math.MaxInt64, math.MaxInt)
	require.NoError(t, err)
	require.Positive(t, a.op.Evict(math.MaxInt64))
	return a, asked
}

// A row that cannot be read ends the task, and is not taken for one that is new.
func TestRowsThatCannotBeRead(t *testing.T) {
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			a, asked := forgotten(t, name, k.build)
			a.lowered = nil
			a.at(3, "k", 1)
			require.ErrorContains(t, a.ctx.Err, "forgotten")
			require.Equal(t, 1, *asked)
			a.ctx.Err = nil
			require.Zero(t, a.op.Dirty())
			require.Empty(t, a.lowered)
			require.Empty(t, a.late)
			require.Empty(t, a.commit(0))
			if name == "table" {
				a.ctx.Deleted = true
				a.at(3, "k", 0)
				require.ErrorContains(t, a.ctx.Err, "forgotten")
			}
		})
	}
}

// A record's later windows are not touched once an earlier one has failed.
func TestOverlappingWindowsThatCannotBeRead(t *testing.T) {
	a, asked := forgotten(t, "window", func(t *flow.Task, s Spec[string, int64, int64]) (flow.Push[string, int64], error) {
		return Windowed(t, s, window.Hopping(10*time.Millisecond, 5*time.Millisecond))
	})
	a.at(3, "k", 1) // in [-5,5) and [0,10)
	require.ErrorContains(t, a.ctx.Err, "forgotten")
	require.Equal(t, 1, *asked)
	require.Empty(t, a.late)
}
