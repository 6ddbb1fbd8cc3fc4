package streamtest_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/streamtest"
)

// The topics of scenarios, besides those of all tests.
var (
	other = stream.NewTopic("other", serde.String, serde.Int64)
	odd   = stream.NewTopic("odd", serde.String, serde.Int64)
	lines = stream.NewTopic("lines", serde.String, serde.String)
	words = stream.NewTopic("words", serde.String, serde.String)
	dlq   = stream.NewTopic("dlq", serde.String, serde.String)
)

// TestScenarios runs the files of testdata/scenarios. A block names a topology;
// each line of its input is a step, and its output says what each step led to.
// The same steps are then run in other ways, which must come to the same.
//
// Steps are
//
//	TOPIC KEY=VALUE @TIME [pPARTITION] [HEADER:VALUE]...
//	TOPIC KEY deleted @TIME
//	TOPIC KEY bytes VALUE @TIME     (as they are)
//	TOPIC nokey=VALUE @TIME
//	advance TIME
//	sleep DURATION
//	crash
//
// and arguments of a block: "spread" says that the order of results between
// partitions does not matter, "each" that results depend on when commits are.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, b *datadriven.TestData) string {
			s := scenario{t: t, name: b.Cmd, steps: strings.Split(b.Input, "\n")}
			require.NotNil(t, topologies[s.name], "%s: no topology is called %s", b.Pos, s.name)
			text, plain := s.run()
			for _, v := range scenarioVariants {
				if v.needs != "" && !b.HasArg(v.needs) || v.commits && b.HasArg("each") {
					continue
				}
				_, got := s.run(v.opts...)
				want := plain
				if v.needs == "spread" {
					got, want = spread(got), spread(plain)
				}
				require.Equal(t, want, got, "%s: %s", b.Pos, v.name)
			}
			return text
		})
	})
}

var scenarioVariants = []struct {
	name    string
	opts    []streamtest.Option
	commits bool   // it commits at other times
	needs   string // an argument of the block
}{
	{name: "crash after every step", opts: []streamtest.Option{streamtest.CrashEvery(1)}},
	{name: "crash and lose the disk after every step", opts: []streamtest.Option{streamtest.CrashEvery(1), streamtest.Wipe}},
	{name: "no cache", opts: []streamtest.Option{streamtest.Cache(0)}},
	{name: "no cache and crash after every step",
		opts: []streamtest.Option{streamtest.Cache(0), streamtest.CrashEvery(1), streamtest.Seed(2)}},
	{name: "commit every second step", opts: []streamtest.Option{streamtest.CommitEvery(2), streamtest.CrashEvery(3)}, commits: true},
	{name: "commit at the end", opts: []streamtest.Option{streamtest.CommitEvery(1000)}, commits: true},
	{name: "commit at the end, crash every second step",
		opts: []streamtest.Option{streamtest.CommitEvery(1000), streamtest.CrashEvery(2)}, commits: true},
	{name: "commit within closings", opts: []streamtest.Option{streamtest.CloseStep(1), streamtest.CrashEvery(1)}, commits: true},
	{name: "three partitions", opts: []streamtest.Option{streamtest.Partitions(3), streamtest.Workers(2)}, needs: "spread"},
	{name: "three partitions, crash after every step",
		opts: []streamtest.Option{streamtest.Partitions(3), streamtest.CrashEvery(1)}, needs: "spread"},
}

// A scenario is a block of a transcript.
type scenario struct {
	t     *testing.T
	name  string
	steps []string
}

// run takes the steps, and returns the transcript and all that came out, topic
// by topic.
func (s scenario) run(opts ...streamtest.Option) (string, []string) {
	var text strings.Builder
	byTopic := map[string][]string{}
	guarded := &caseTB{TB: s.t}
	defer guarded.cleanUp()
	d := streamtest.New(guarded, topologies[s.name](), append(topologyOptions[s.name], opts...)...)
	looks := len(opts) == 0 // each look commits
	for _, step := range s.steps {
		failure := s.step(d, step)
		var came []string
		if looks && failure == "" {
			came = received(d, byTopic)
		}
		if failure != "" {
			byTopic["failures"] = append(byTopic["failures"], failure)
			came = append(came, failure)
		}
		fmt.Fprintf(&text, "%-32s | %s\n", step, strings.Join(came, ", "))
	}
	require.Empty(s.t, guarded.failure)
	received(d, byTopic)
	all := dropped(d)
	for _, line := range all {
		fmt.Fprintf(&text, "%s\n", line)
	}
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		all = append(all, byTopic[topic]...)
	}
	return text.String(), all
}

// step takes one step, and returns why the app stopped, if it did.
func (s scenario) step(d *streamtest.Driver, line string) string {
	f := strings.Fields(line)
	do := func() { s.send(d, line, f) }
	switch f[0] {
	case "advance":
		do = func() { d.Advance(at(s.number(f[1]))) }
	case "sleep":
		p, err := time.ParseDuration(f[1])
		require.NoError(s.t, err)
		do = func() { d.Sleep(p) }
	case "crash":
		do = d.Crash
	}
	if err := d.Try(do); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return "stops: " + first
	}
	return ""
}

func (s scenario) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(s.t, err)
	return n
}

func (s scenario) send(d *streamtest.Driver, line string, f []string) {
	r := stream.Record[string, string]{Key: f[1]}
	bytes, nokey := false, false
	for i := 2; i < len(f); i++ {
		switch name, value, header := strings.Cut(f[i], ":"); {
		case f[i] == "deleted":
			r.Deleted = true
		case f[i] == "bytes":
			bytes = true
			i++
			r.Value = f[i]
		case f[i][0] == '@':
			r.Time = at(s.number(f[i][1:]))
		case header:
			r.Headers = r.Headers.With(name, []byte(value))
		default:
			s.t.Fatalf("step %q: what is %q?", line, f[i])
		}
	}
	if key, value, ok := strings.Cut(f[1], "="); ok {
		r.Key, r.Value, nokey = key, value, key == "nokey"
	}
	switch {
	case nokey && f[0] == "lines":
		d.SendBytes(f[0], 0, nil, []byte(r.Value), r.Time)
	case nokey:
		n, _ := serde.Int64.Append([]byte{}, s.number(r.Value))
		d.SendBytes(f[0], 0, nil, n, r.Time)
	case bytes:
		d.SendBytes(f[0], 0, []byte(r.Key), []byte(r.Value), r.Time)
	case f[0] == "lines":
		d.SendRecord(lines, r)
	default:
		n := stream.Record[string, int64]{Key: r.Key, Deleted: r.Deleted, Time: r.Time, Headers: r.Headers}
		if !r.Deleted {
			n.Value = s.number(r.Value)
		}
		d.SendRecord(stream.NewTopic(f[0], serde.String, serde.Int64), n)
	}
}

// received adds what came out since the last time to byTopic, and returns it.
func received(d *streamtest.Driver, byTopic map[string][]string) (came []string) {
	add := func(topic string, list []string) {
		for _, r := range list {
			byTopic[topic] = append(byTopic[topic], topic+" "+r)
			came = append(came, topic+" "+r)
		}
	}
	for _, t := range []stream.Topic[string, int64]{out, odd, late} {
		add(t.Name, show(d.Received(t), func(k string) string { return k }))
	}
	for _, t := range []stream.Topic[string, string]{words, dlq} {
		add(t.Name, show(d.Received(t), func(k string) string { return k }))
	}
	add("out", rowsWithHeaders(d))
	return came
}

// rowsWithHeaders is what came out of windows.
func rowsWithHeaders(d *streamtest.Driver) []string {
	return show(d.Received(windowed), windowText)
}

// show is how records are written in transcripts.
func show[K, V any](rs []stream.Record[K, V], key func(K) string) []string {
	var list []string
	for _, r := range rs {
		value := fmt.Sprint(r.Value)
		if quoted := strconv.Quote(value); strings.Contains(quoted, `\x`) {
			value = quoted
		}
		text := fmt.Sprintf("%s=%s @%d", key(r.Key), value, r.Time.UnixMilli())
		if r.Deleted {
			text = fmt.Sprintf("%s deleted @%d", key(r.Key), r.Time.UnixMilli())
		}
		for _, h := range r.Headers {
			if v, said := shownHeaders(h); said {
				text += fmt.Sprintf(" %s:%s", h.Key, v)
			}
		}
		list = append(list, text)
	}
	return list
}

// shownHeaders returns a header's value as it is shown. Stacks differ from run
// to run.
func shownHeaders(h stream.Header) (string, bool) {
	switch h.Key {
	case "weir.dlq.stack":
		return "...", true
	case "weir.dlq.first-seen":
		return "", false
	}
	return string(h.Value), true
}

func dropped(d *streamtest.Driver) (list []string) {
	for drop, n := range d.Drops() {
		list = append(list, fmt.Sprintf("dropped by %s: %d %s", drop.Operator, n, drop.Reason))
	}
	slices.Sort(list)
	return list
}

// spread forgets the order of results.
func spread(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
