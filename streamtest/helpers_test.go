package streamtest_test

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// The topics that tests read and write, unless they need others.
var (
	in       = stream.NewTopic("in", serde.String, serde.Int64)
	out      = stream.NewTopic("out", serde.String, serde.Int64)
	windowed = stream.NewTopic("windowed", serde.Windowed(serde.String), serde.Int64)
	late     = stream.NewTopic("late", serde.String, serde.Int64)
)

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// rows is how windowed results are compared: as a list of "k[0,10)=2 @9", the
// key, window, value and time of each, or of "k[0,10) deleted @9".
func rows(rs []stream.Record[window.Key[string], int64]) []string {
	list := []string{}
	for _, r := range rs {
		k := fmt.Sprintf("%s[%d,%d)", r.Key.Key, r.Key.Span.StartMs(), r.Key.Span.EndMs())
		list = append(list, line(k, r.Value, r.Deleted, r.Time))
	}
	return list
}

// plain is rows for results without windows.
func plain(rs []stream.Record[string, int64]) []string {
	list := []string{}
	for _, r := range rs {
		list = append(list, line(r.Key, r.Value, r.Deleted, r.Time))
	}
	return list
}

func line(key string, value int64, deleted bool, t time.Time) string {
	if deleted {
		return fmt.Sprintf("%s deleted @%d", key, t.UnixMilli())
	}
	return fmt.Sprintf("%s=%d @%d", key, value, t.UnixMilli())
}

// finals is a topology of the final counts of windows of in.
func finals(w window.Fixed, opts ...stream.SourceOption) *stream.Topology {
	top := stream.New("app")
	counts := top.Stream(in, opts...).GroupByKey().Windowed(w)
	counts.Count("counts").Final().SelectKeyRecord(stream.WindowKey).To(windowed)
	counts.Late().To(late)
	return top
}

// updates is finals for updates.
func updates(w window.Fixed) *stream.Topology {
	top := stream.New("app")
	top.Stream(in).GroupByKey().Windowed(w).Count("counts").Updates().SelectKeyRecord(stream.WindowKey).To(windowed)
	return top
}
