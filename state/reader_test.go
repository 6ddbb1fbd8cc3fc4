package state

import (
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
)

// What is read through one iterator for a while is what was written last.
func TestReadsSeeWhatWasWritten(t *testing.T) {
	db := openDB(t, vfs.NewMem())
	p := lease(t, db, "key-value")
	s, err := OpenKeyValue(p, discardLog{}, serde.String)
	require.NoError(t, err)
	put := kindsOfStores[0].put
	get := func(key string) bool {
		r, err := s.Get([]byte(key))
		require.NoError(t, err)
		return r != nil
	}
	_, err = put(s, "a", "1")
	require.NoError(t, err)
	commitAndWrite(t, s, 1)
	s.Evict(math.MaxInt64)
	_, err = put(s, "b", "1")
	require.NoError(t, err)
	commit(t, s, 2)
	require.Nil(t, p.reader, "a commit lets go")
	require.False(t, get("c"))
	require.NotNil(t, p.reader)
	_, err = s.WriteBehind(2, math.MaxInt)
	require.NoError(t, err)
	s.Evict(math.MaxInt64)
	require.True(t, get("a"))
	require.True(t, get("b"), "it was written after the iterator was made")
	require.False(t, get(""))

	require.NotNil(t, p.reader)
	p.Release()
	require.Nil(t, p.reader)
	s.Evict(math.MaxInt64)
	require.True(t, get("a"), "after its release a store can still be read")
	require.Nil(t, p.reader)

	p = lease(t, db, "key-value")
	s, err = OpenKeyValue(p, discardLog{}, serde.String)
	require.NoError(t, err)
	require.True(t, get("a"))
	require.NoError(t, db.Close(), "which also lets go")
}
