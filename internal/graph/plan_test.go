package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/seam"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

var (
	a   = stream.NewTopic("a", serde.String, serde.Int64)
	b   = stream.NewTopic("b", serde.String, serde.Int64)
	out = stream.NewTopic("out", serde.String, serde.Int64)
)

func plan(t *testing.T, describe func(top *stream.Topology)) *graph.Plan {
	t.Helper()
	top := stream.New("app")
	describe(top)
	p, err := seam.PlanOf(top, "")
	require.NoError(t, err)
	return p
}

// describe writes a plan as text, one sub-topology a line.
func describe(p *graph.Plan) string {
	var lines []string
	names := func(nodes []*graph.Node) string {
		var list []string
		for _, n := range nodes {
			list = append(list, n.Name)
		}
		return strings.Join(list, ",")
	}
	for i, s := range p.Subs {
		lines = append(lines, fmt.Sprintf("%d: reads %s, keeps %s, writes %s, repartitions %s",
			i, names(s.Sources), names(s.Stores), names(s.Sinks), names(s.Repartitions)))
	}
	return strings.Join(lines, "\n")
}

func TestCut(t *testing.T) {
	for want, build := range map[string]func(top *stream.Topology){
		"0: reads a, keeps , writes out, repartitions ": func(top *stream.Topology) { top.Stream(a).To(out) },
		"0: reads a, keeps , writes out, repartitions \n1: reads b, keeps , writes out, repartitions ": func(top *stream.Topology) {
			top.Stream(a).To(out)
			top.Stream(b).To(out)
		},
		"0: reads a,b, keeps , writes out, repartitions ": func(top *stream.Topology) { top.Stream(a).Merge(top.Stream(b)).To(out) },
		"0: reads a, keeps , writes , repartitions again\n1: reads again, keeps n, writes out, repartitions ": func(top *stream.Topology) {
			top.Stream(a).Repartition("again").GroupByKey().Count("n").Updates().To(out)
		},
		"0: reads a,again, keeps , writes out, repartitions \n1: reads b, keeps , writes , repartitions again": func(top *stream.Topology) {
			top.Stream(a).Merge(top.Stream(b).Repartition("again")).To(out)
		},
		"0: reads a, keeps first,second, writes out,out, repartitions ": func(top *stream.Topology) {
			s := top.Stream(a).GroupByKey()
			s.Count("first").Updates().To(out)
			s.Count("second").Updates().To(out)
		},
	} {
		p := plan(t, build)
		require.Equal(t, want, describe(p))
		for i, s := range p.Subs {
			require.EqualValues(t, i, s.ID)
		}
	}
}

func TestNamesOfTopics(t *testing.T) {
	p := plan(t, func(top *stream.Topology) {
		top.Stream(a).Repartition("again").GroupByKey().Count("n").Updates().To(out)
	})
	first, second := p.Subs[0], p.Subs[1]
	require.Equal(t, "app-n-changelog", p.ChangelogTopic(second.Stores[0]))
	require.Equal(t, "app-again-repartition", p.TopicOf(first.Repartitions[0]))
	require.Equal(t, "app-again-repartition", p.TopicOf(second.Sources[0]))
	require.Equal(t, "a", p.TopicOf(first.Sources[0]))
	require.Equal(t, first, p.Writer(second.Sources[0]))
	require.Nil(t, p.Writer(first.Sources[0]))
}

// What is downstream of windows is behind by all that they hold back, and a
// closing first sends on the updates that reach it.
func TestHoldsAndUpdates(t *testing.T) {
	minutes := window.Tumbling(time.Minute).Grace(10 * time.Second)
	value := func(r stream.Record[string, int64]) int64 { return r.Value }
	p := plan(t, func(top *stream.Topology) {
		first := top.Stream(a).GroupByKey().Windowed(minutes).Count("first")
		second := first.Final().MapRecord(value).GroupByKey().Sessions(window.Gap(time.Second).Grace(2 * time.Second)).Count("second")
		second.Final().MapRecord(value).GroupByKey().Count("third").Updates().To(out)
		updates := first.Updates().MapRecord(value)
		updates.GroupByKey().Windowed(minutes).Count("fourth").Final().MapRecord(value).To(out)
		second.Final().MapRecord(value).Merge(updates).GroupByKey().Count("fifth").Updates().To(out)
	})
	holds, before := map[string]int64{}, map[string][]string{}
	for _, n := range p.Subs[0].Stores {
		holds[n.Name] = p.Subs[0].Holds[n.ID]
		for _, up := range p.Subs[0].FlushFirst[n.ID] {
			before[n.Name] = append(before[n.Name], p.Names[up])
		}
	}
	require.Equal(t, map[string]int64{"first": 0, "second": 10_000, "third": 13_000, "fourth": 0, "fifth": 13_000}, holds)
	require.Equal(t, map[string][]string{"fourth": {"first"}, "fifth": {"first"}}, before)
}

// A fingerprint tells apart what must not run side by side.
func TestFingerprint(t *testing.T) {
	counts := func(s stream.Stream[string, int64], name string, opts ...stream.TopicOption) {
		s.GroupBy("again", stream.Identity, opts...).Count(name).Updates().SelectKey(func(int64) string { return "" }).To(out)
	}
	base := func(top *stream.Topology) { counts(top.Stream(a), "n") }
	same := plan(t, base).Fingerprint()
	require.Equal(t, same, plan(t, base).Fingerprint())
	require.Equal(t, same, plan(t, func(top *stream.Topology) {
		counts(top.Stream(a).Filter(func(int64) bool { return true }), "n")
	}).Fingerprint(), "stateless operators come and go")
	for name, build := range map[string]func(top *stream.Topology){
		"source":     func(top *stream.Topology) { counts(top.Stream(b), "n") },
		"store":      func(top *stream.Topology) { counts(top.Stream(a), "m") },
		"partitions": func(top *stream.Topology) { counts(top.Stream(a), "n", stream.Partitions(7)) },
		"another sub-topology": func(top *stream.Topology) {
			top.Stream(b).To(out)
			base(top)
		},
	} {
		require.NotEqual(t, same, plan(t, build).Fingerprint(), name)
	}
}

// A second Build is as good as the first, also with another default policy.
func TestBuildAgain(t *testing.T) {
	g := graph.New("app")
	own := &flow.Policy{Action: flow.DeadLetter}
	source := g.Add(graph.Source, "source", "a")
	sink := g.Add(graph.Sink, "sink", "out", source)
	sink.Policy = own
	for _, p := range []*flow.Policy{{Action: flow.Stop}, {Action: flow.Skip}} {
		_, err := g.Build("app", p)
		require.NoError(t, err)
		require.Same(t, p, source.Policy)
		require.Same(t, own, sink.Policy)
	}
}

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", "A-b_c.9", strings.Repeat("x", 100)} {
		require.NoError(t, graph.ValidName(name))
	}
	for name, want := range map[string]string{
		"": "a name is needed", "a b": "holds ' '", "é": "holds 'é'", "a/b": "holds '/'", "\xff": "holds",
		strings.Repeat("x", 101): "longer than 100 bytes",
	} {
		require.ErrorContains(t, graph.ValidName(name), want)
	}
}
