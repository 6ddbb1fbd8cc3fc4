package checkpoint

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/watermark"
)

func TestMetaComesBack(t *testing.T) {
	for _, m := range []Meta{
		NoMeta,
		{Partition: -1, Task: 0, Fired: 1},
		{Partition: math.MaxInt64, Task: math.MinInt64 + 1, Fired: watermark.None},
		{Partition: 5, Task: 9, Fired: 7, Stores: []StoreProgress{{"counts", 3, "\x80\x00after\xff"}, {"", -8, ""}}},
	} {
		text, err := m.Encode()
		require.NoError(t, err)
		got, err := DecodeMeta(text)
		require.NoError(t, err)
		require.Equal(t, m, got)
		for n := 1; n < len(text); n++ {
			if cut, err := DecodeMeta(text[:n]); err == nil {
				require.NotEqual(t, m, cut, "%d of %d characters", n, len(text))
			}
		}
	}
}

func TestMetaOfOthers(t *testing.T) {
	m, err := DecodeMeta("")
	require.NoError(t, err)
	require.Equal(t, NoMeta, m, "other programs commit no metadata")
	for _, text := range []string{"not base64!", "Ag", "AQ", "AQAAAAAA" + strings.Repeat("A", 9)} {
		_, err := DecodeMeta(text)
		require.Error(t, err, text)
	}
}

func TestMetaHasALimit(t *testing.T) {
	m := NoMeta
	m.Stores = []StoreProgress{{"counts", 0, strings.Repeat("k", MaxMeta)}}
	_, err := m.Encode()
	require.ErrorIs(t, err, ErrMetaTooLong)
}
