package wordcount_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/examples/wordcount"
	"github.com/weirstream/weir/streamtest"
)

func TestWordcount(t *testing.T) {
	d := streamtest.New(t, wordcount.Topology())

	d.Send(wordcount.Lines, "", "To be or not to be", time.UnixMilli(0))

	counts := map[string]int64{}
	for _, r := range d.Received(wordcount.Counts) {
		counts[r.Key] = r.Value
	}
	require.Equal(t, map[string]int64{"to": 2, "be": 2, "or": 1, "not": 1}, counts)
}
