package streamtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/streamtest"
	"github.com/weirstream/weir/window"
)

var (
	in  = stream.NewTopic("in", serde.String, serde.Int64)
	out = stream.NewTopic("out", serde.Windowed(serde.String), serde.Int64)
)

func ms(t int64) time.Time { return time.UnixMilli(t).UTC() }

func TestFirst(t *testing.T) {
	top := stream.New("app")
	top.Stream(in).GroupByKey().Windowed(window.Tumbling(10*time.Millisecond)).Count("n").Final().SelectKeyRecord(stream.WindowKey).To(out)
	d := streamtest.New(t, top)
	for _, at := range []int64{0, 9, 10} {
		d.Send(in, "k", 1, ms(at))
	}
	d.Crash()
	d.Send(in, "x", 1, ms(20))
	rs := d.Received(out)
	t.Log(rs)
	require.Len(t, rs, 2)
}
