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

// What the package's comment shows.

type click struct{ Page string }

type views struct {
	Page  string
	Views int64
}

var (
	clicks    = stream.NewTopic("clicks", serde.String, serde.JSON[click]())
	pageViews = stream.NewTopic("page-views", serde.String, serde.JSON[views]())
	noon      = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
)

func viewsPerMinute() *stream.Topology {
	top := stream.New("views")
	top.Stream(clicks).
		GroupBy("by-page", func(c click) string { return c.Page }).
		Windowed(window.Tumbling(time.Minute)).
		Count("views").Final().
		MapRecord(func(r stream.Record[string, int64]) views { return views{r.Key, r.Value} }).
		To(pageViews)
	return top
}

func TestViewsPerMinute(t *testing.T) {
	d := streamtest.New(t, viewsPerMinute())

	d.Send(clicks, "ann", click{"/home"}, noon)
	d.Send(clicks, "bob", click{"/home"}, noon.Add(59*time.Second))
	d.Advance(noon.Add(time.Minute))

	require.Equal(t, []views{{"/home", 2}}, d.Values(pageViews))
}

func TestViewsPerMinuteWhateverHappens(t *testing.T) {
	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
		d := streamtest.New(t, viewsPerMinute(), streamtest.Partitions(4), vary)
		for i := range 20 {
			d.Send(clicks, string(rune('a'+i)), click{"/home"}, noon.Add(time.Duration(i)*time.Second))
		}
		d.Rescale(2)
		d.Advance(noon.Add(time.Minute))
		require.Equal(t, []views{{"/home", 20}}, d.Values(pageViews))
	})
}
