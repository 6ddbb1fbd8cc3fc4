package stream_test

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

var (
	orders = stream.NewTopic("orders", serde.String, serde.Int64)
	totals = stream.NewTopic("totals", serde.String, serde.Int64)
)

type hidden struct{ secret int }

func everything(int64) bool { return true }

// mistakes are what Build refuses. The line that each is made on is marked with
// its name, and is in the error.
var mistakes = []struct {
	name  string
	build func(top *stream.Topology)
	want  string
}{
	{"dangling", func(top *stream.Topology) {
		top.Stream(orders).Filter(everything) // dangling
	}, "filter filter-1: nothing follows it: end the chain with To"},
	{"dangling count", func(top *stream.Topology) {
		top.Stream(orders).GroupByKey().Count("counts") // dangling count
	}, "count counts: nothing follows it"},
	{"twice", func(top *stream.Topology) {
		top.Stream(orders).GroupByKey().Count("n").Updates().To(totals)
		top.Stream(orders).ToTable("n") // twice
	}, `to-table n: the name "n" is taken by the count at build_test.go:`},
	{"repartition twice", func(top *stream.Topology) {
		top.Stream(orders).GroupBy("n", stream.Identity).Count("n").Updates().Map(half).SelectKey(text).To(totals) // repartition twice
	}, `count n: the name "n" is taken by the repartition at build_test.go:`},
	{"bad name", func(top *stream.Topology) {
		top.Stream(orders).GroupByKey().Count("über").Updates().To(totals) // bad name
	}, `count über: the name "über" holds 'ü'`},
	{"no name", func(top *stream.Topology) {
		top.Stream(orders).GroupByKey().Count("").Updates().To(totals) // no name
	}, "count count-1: a name is needed"},
	{"long name", func(top *stream.Topology) {
		top.Stream(orders).Repartition(strings.Repeat("x", 101)).To(totals) // long name
	}, "repartition xxx"},
	{"no repartition", func(top *stream.Topology) {
		top.Stream(orders).SelectKey(text).GroupByKey().Count("counts").Updates().To(totals) // no repartition
	}, "count counts: the key was changed by SelectKey, so equal keys may be on different partitions: put Repartition or GroupBy in between"},
	{"no repartition after merge", func(top *stream.Topology) {
		s := top.Stream(orders)
		s.Merge(s.SelectKey(text)).ToTable("table") // no repartition after merge
	}, "to-table table: the key was changed by SelectKey"},
	{"window lost", func(top *stream.Topology) {
		counts := top.Stream(orders).GroupByKey().Windowed(window.Tumbling(time.Second)).Count("counts")
		counts.Final().To(totals) // window lost
	}, "sink totals: the results of windows would be written without their windows: put the window in the key"},
	{"window lost in updates", func(top *stream.Topology) {
		counts := top.Stream(orders).GroupByKey().Sessions(window.Gap(time.Second)).Count("counts")
		counts.Updates().Filter(everything).To(totals) // window lost in updates
	}, "sink totals: the results of windows would be written without their windows"},
	{"window lost in a repartition topic", func(top *stream.Topology) {
		counts := top.Stream(orders).GroupByKey().Windowed(window.Tumbling(time.Second)).Count("counts")
		counts.Final().GroupBy("again", stream.Identity).Count("n").Updates().SelectKey(text).To(totals) // window lost in a repartition topic
	}, "repartition again: the results of windows would be written without their windows"},
	{"lossy value", func(top *stream.Topology) {
		s := top.Stream(orders).GroupByKey().
			Aggregate("lossy", func() hidden { return hidden{} }, func(h hidden, _ int64) hidden { return h }) // lossy value
		s.Updates().Map(func(h hidden) int64 { return int64(h.secret) }).To(totals)
	}, "aggregate lossy: serde: no default for stream_test.hidden, because it would not come back whole"},
	{"lossy key", func(top *stream.Topology) {
		s := top.Stream(orders).GroupBy("by-func", func(int64) *func() { return nil }) // lossy key
		s.Count("n").Updates().SelectKey(text).To(totals)
	}, "repartition by-func: serde: no default for"},
	{"nothing late", func(top *stream.Topology) {
		top.Stream(orders).GroupByKey().Windowed(window.Tumbling(time.Second)).Late().To(totals) // nothing late
	}, "late late-1: the windows have no aggregation yet"},
	{"other topology", func(top *stream.Topology) {
		elsewhere := stream.New("elsewhere")
		s := elsewhere.Stream(orders)
		for range 10 {
			s = s.Filter(everything)
		}
		top.Stream(orders).Merge(s).To(totals) // other topology
	}, "merge merge-1: the streams belong to different topologies"},
	{"two types", func(top *stream.Topology) {
		top.Stream(orders).To(totals)
		top.Stream(stream.NewTopic("orders", serde.String, serde.String)).SelectKey(stream.Identity).Map(length).To(totals) // two types
	}, "topic orders is read as other types at build_test.go:"},
	{"options twice", func(top *stream.Topology) {
		top.Stream(orders).To(totals)
		top.Stream(orders, stream.OnError(stream.Skip())).To(totals) // options twice
	}, "topic orders has its options from build_test.go:"},
	{"two serdes", func(top *stream.Topology) {
		top.Stream(orders).To(totals)
		top.Use(serde.Int64)
		top.Use(serde.Int64) // two serdes
	}, "a serde for int64 has been chosen before"},
	{"no topic", func(top *stream.Topology) {
		top.Stream(orders).To(stream.NewTopic("", serde.String, serde.Int64)) // no topic
	}, "sink sink-1: the topic has no name"},
	{"no serde", func(top *stream.Topology) {
		top.Stream(stream.Topic[string, int64]{Name: "raw", Key: serde.String}).To(totals) // no serde
	}, "source raw: topic raw has no serde for its keys or for its values: make it with NewTopic"},
	{"bad window", func(top *stream.Topology) {
		w := top.Stream(orders).GroupByKey().Windowed(window.Hopping(time.Second, time.Minute))
		w.Count("counts").Final().SelectKeyRecord(windowText).To(totals) // bad window
	}, "count counts: window: advance 1m0s is greater than size 1s"},
	{"bad session", func(top *stream.Topology) {
		w := top.Stream(orders).GroupByKey().Sessions(window.Gap(0))
		w.Count("counts").Final().SelectKeyRecord(windowText).To(totals) // bad session
	}, "count counts: window: session gap 0s is not at least one millisecond"},
	{"bad watermark", func(top *stream.Topology) {
		top.Stream(orders, stream.Watermarks(watermark.Bounded(-time.Second))).To(totals) // bad watermark
	}, "source orders: watermark: bound -1s is negative"},
	{"bad partitions", func(top *stream.Topology) {
		top.Stream(orders).Repartition("again", stream.Partitions(-1)).To(totals) // bad partitions
	}, "repartition again: -1 partitions"},
	{"circle", func(top *stream.Topology) {
		s := top.Stream(orders)
		s.Merge(s.Repartition("round")).To(totals) // circle
	}, "repartition round: what is read from its topic meets what is written to it"},
}

func half(n int64) int64 { return n / 2 }

func text(n int64) string { return fmt.Sprint(n) }

func length(s string) int64 { return int64(len(s)) }

func windowText(r stream.Record[string, int64]) string { return r.Key + r.Window.String() }

// build checks a topology alone: the configuration has no mistakes.
func build(t *testing.T, top *stream.Topology) error {
	_, err := top.Build(stream.Config{Brokers: []string{"localhost:9092"}, StateDir: t.TempDir()})
	return err
}

// marked returns file:line of the line that ends with the comment.
func marked(t *testing.T, comment string) string {
	source, err := os.ReadFile("build_test.go")
	require.NoError(t, err)
	lines := strings.Split(string(source), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, " // "+comment) })
	require.GreaterOrEqual(t, i, 0, comment)
	return fmt.Sprintf("build_test.go:%d: ", i+1)
}

func TestBuildRefuses(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			top := stream.New("app")
			m.build(top)
			err := build(t, top)
			require.ErrorContains(t, err, m.want)
			found := slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(l string) bool {
				return strings.HasPrefix(l, marked(t, m.name)) && strings.Contains(l, m.want[:min(len(m.want), 20)])
			})
			require.True(t, found, "%q does not say that it is at %s", err, marked(t, m.name))
		})
	}
}

// All mistakes come at once, each on its own line.
func TestBuildJoinsMistakes(t *testing.T) {
	top := stream.New("not a name")
	for _, m := range mistakes {
		switch m.name {
		case "dangling", "window lost", "nothing late", "circle":
			m.build(top)
		}
	}
	err := build(t, top)
	for _, want := range []string{
		`the topology: the name "not a name" holds ' '`, "nothing follows it", "without their windows",
		"no aggregation yet", "meets what is written",
	} {
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, build(t, stream.New("empty")), "the topology is empty: it reads nothing")
	require.ErrorContains(t, build(t, stream.New("")), "a name is needed")
}

// What is right builds, every time, and finds no mistakes in things that look
// like some.
func TestBuildAccepts(t *testing.T) {
	for name, describe := range map[string]func(top *stream.Topology){
		"a table by itself":          func(top *stream.Topology) { top.Stream(orders).ToTable("table") },
		"half of a split":            func(top *stream.Topology) { even, _ := top.Stream(orders).Split(everything); even.To(totals) },
		"a topic read and written":   func(top *stream.Topology) { top.Stream(orders).To(orders) },
		"names of sources and sinks": func(top *stream.Topology) { top.Stream(orders).GroupByKey().Count("orders").Updates().To(totals) },
		"a window that was looked at": func(top *stream.Topology) {
			w := top.Stream(orders).GroupByKey().Windowed(window.Tumbling(time.Second)).Count("counts")
			w.Final().SelectKeyRecord(windowText).To(totals)
			w.Updates().MapRecord(func(r stream.Record[string, int64]) int64 { return r.Window.StartMs() }).To(totals)
			w.Final().FlatMapRecord(func(stream.Record[string, int64]) iter.Seq[int64] { return slices.Values([]int64{1}) }).To(totals)
			w.Final().Route(func(stream.Record[string, int64]) stream.Topic[string, int64] { return totals })
		},
		"late after its aggregation, or before": func(top *stream.Topology) {
			w := top.Stream(orders).GroupByKey().Windowed(window.Tumbling(time.Second))
			w.Late().To(totals)
			w.Count("counts").Final().SelectKeyRecord(windowText).To(totals)
			w.Late().To(totals)
		},
		"keys brought together": func(top *stream.Topology) {
			top.Stream(orders).SelectKey(text).Repartition("again").GroupByKey().Count("counts").Updates().To(totals)
		},
	} {
		t.Run(name, func(t *testing.T) {
			top := stream.New("app")
			describe(top)
			require.NoError(t, build(t, top))
			require.NoError(t, build(t, top))
		})
	}
}
