//go:build !race

package serde_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirstream/weir/serde"
)

// TestAllocations pins what a record costs the garbage collector: nothing to encode, and to decode hardly more than what
// the value itself holds.
func TestAllocations(t *testing.T) {
	type id string
	allocates(t, "string", serde.String, "alice", 0, 1)
	allocates(t, "int64", serde.Int64, 1<<40, 0, 0)
	allocates(t, "named", defaultOf[id](t), "alice", 0, 1)
	allocates(t, "struct", serde.MsgPack[order](), anOrder, 0, 2)
	allocates(t, "struct as array", serde.MsgPack[order](serde.AsArray()), anOrder, 0, 3) // the decoder first tries a map
	allocates(t, "pointer to struct", serde.MsgPack[*order](), &anOrder, 0, 3)
	allocates(t, "default struct", defaultOf[order](t), anOrder, 0, 2)
	allocates(t, "own codec", serde.MsgPack[ownCodec](), ownCodec{7, "ab"}, 0, 1)
	allocates(t, "pointer to own codec", serde.MsgPack[*ownCodec](), &ownCodec{7, "ab"}, 0, 2)
	allocates(t, "windowed", serde.Windowed(serde.String), windowKey("alice", 0, 60_000), 0, 1)
	allocates(t, "json", serde.JSON[order](), anOrder, 0, 2)
	allocates(t, "protobuf", serde.Protobuf[*wrapperspb.Int64Value](), wrapperspb.Int64(5), 0, 1)
}

// allocates checks that encoding v allocates exactly, and decoding it at most, so many times.
func allocates[T any](t *testing.T, name string, s serde.Serde[T], v T, encode, decode float64) {
	t.Helper()
	data, err := s.Append(make([]byte, 0, 1024), v)
	require.NoError(t, err)
	dst := make([]byte, 0, 1024)
	require.Equal(t, encode, testing.AllocsPerRun(100, func() { dst, _ = s.Append(dst[:0], v) }), "encode "+name)
	var back T
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { back, _ = s.Decode(data) }), decode, "decode "+name)
	require.NotNil(t, back)
}
