package state

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

func TestRangesAndDiscard(t *testing.T) {
	db, err := Open(Options{Dir: "db", FS: vfs.NewMem()})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	d := Descriptor{Name: "counts", Kind: "key-value"}
	for _, number := range []int32{0, 7} {
		p, err := db.Lease(d, number)
		require.NoError(t, err)
		require.NoError(t, p.Restore([]Change{{Key: "k", Value: []byte("v")}}, Position{Offset: 5, Wall: 9}, false))
		if number == 7 {
			defer p.Release()
		} else {
			p.Release()
		}
	}
	none, err := db.Lease(Descriptor{Name: "other", Kind: "key-value"}, 1)
	require.NoError(t, err)
	defer none.Release()

	ranges, err := db.Ranges()
	require.NoError(t, err)
	require.ElementsMatch(t, []Range{
		{Store: "counts", Partition: 0, Position: Position{Offset: 5, Wall: 9}},
		{Store: "counts", Partition: 7, Position: Position{Offset: 5, Wall: 9}, Leased: true},
	}, ranges)

	require.ErrorIs(t, db.Discard(Range{Store: "counts", Partition: 7}), ErrLeased)
	require.NoError(t, db.Discard(Range{Store: "counts", Partition: 0}))
	ranges, err = db.Ranges()
	require.NoError(t, err)
	require.Len(t, ranges, 1)
	require.EqualValues(t, 7, ranges[0].Partition, "the leased one is left alone")
}
