package streamtest_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/model"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/streamtest"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

var (
	listed = stream.NewTopic("windowed", serde.Windowed(serde.String), serde.String)
	paired = stream.NewTopic("paired", serde.Windowed(serde.String), serde.String)
)

// topology aggregates the ids of records, so that a result says exactly which
// records made it.
func (c modelCase) topology() *stream.Topology {
	top := stream.New("app")
	strategy := watermark.Bounded(millis(c.setup.Bound)).Idle(millis(c.setup.Idle))
	s := top.Stream(in, stream.Watermarks(strategy))
	if c.setup.Regrouped {
		s = s.Repartition("again", stream.Partitions(c.again))
	}
	none := func() string { return "" }
	add := func(ids string, id int64) string { return ids + strconv.FormatInt(id, 10) + " " }
	var table stream.WindowedTable[string, string]
	if g := s.GroupByKey(); c.setup.Gap > 0 {
		w := g.Sessions(window.Gap(millis(c.setup.Gap)).Grace(millis(c.setup.Grace)))
		table = w.Aggregate("ids", none, add, func(a, b string) string { return a + b })
		w.Late().To(late)
	} else {
		f := window.Hopping(millis(c.setup.Size), millis(c.setup.Advance)).Offset(millis(c.setup.Offset)).Grace(millis(c.setup.Grace))
		w := g.Windowed(f)
		table = w.Aggregate("ids", none, add)
		w.Late().To(late)
	}
	table.Final().SelectKeyRecord(stream.WindowKey).To(listed)
	if c.second > 0 {
		describe := func(r stream.Record[string, string]) string {
			return tagged(r.Window.StartMs(), r.Window.EndMs(), strings.Fields(r.Value))
		}
		table.Final().MapRecord(describe).GroupByKey().Windowed(window.Tumbling(millis(c.second))).
			Reduce("pairs", func(a, b string) string { return a + b }).Final().SelectKeyRecord(stream.WindowKey).To(paired)
	}
	return top
}

// tagged puts the window that they are from before each of the ids.
func tagged(start, end int64, ids []string) (all string) {
	for _, id := range ids {
		all += fmt.Sprintf("[%d,%d)%s ", start, end, id)
	}
	return all
}

func (c modelCase) options() []streamtest.Option {
	return []streamtest.Option{
		streamtest.Partitions(c.setup.Partitions), streamtest.CommitEvery(c.commitEvery), streamtest.Workers(c.workers),
		streamtest.Cache(c.cache), streamtest.CloseStep(c.closeStep), streamtest.Seed(c.seed),
	}
}

// play runs the events.
func (c modelCase) play(d *streamtest.Driver) {
	for _, e := range c.events {
		switch e.Kind {
		case model.Record:
			origin := stream.Origin{Topic: "in", Partition: int32(e.Partition)}
			d.SendRecord(in, stream.Record[string, int64]{Key: e.Key, Value: int64(e.ID), Time: at(e.Time), Origin: origin})
		case model.Advance:
			d.Advance(at(e.Time))
		case model.Sleep:
			d.Sleep(millis(e.Time))
		case model.Restart:
			switch e.ID {
			case crash:
				d.Crash()
			case crashAndWipe:
				d.CrashAndWipe()
			default:
				d.Rescale(e.ID - rescale + 1)
			}
		}
	}
}

// check plays the case and returns how engine and model differ, or "".
func (c modelCase) check(t testing.TB) (diff string) {
	guarded := &caseTB{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(guarded) {
			panic(p)
		}
		guarded.cleanUp()
		if guarded.failure != "" {
			diff = guarded.failure
		}
	}()
	d := streamtest.New(guarded, c.topology(), c.options()...)
	c.play(d)

	before, end := model.Run(c.setup, c.events, false), model.Run(c.setup, c.events, true)
	finals := c.finals(d.Received(listed))
	var diffs []string
	differ := func(what string, got, want []string) {
		if !slices.Equal(got, want) {
			diffs = append(diffs, fmt.Sprintf("%s\n  engine %q\n  model  %q", what, got, want))
		}
	}
	differ("final", finals, c.windows(before.Finals))
	differ("late", c.ids(d.Received(late)), c.strings(before.Late))
	differ("open", c.open(d), c.windows(before.Open))
	drops := d.Drops()
	if missed := drops[streamtest.Drop{Operator: "ids", Reason: "late"}]; missed != before.Missed || len(drops) > 1 {
		diffs = append(diffs, fmt.Sprintf("dropped\n  engine %v\n  model  %d late", drops, before.Missed))
	}
	d.Finish()
	differ("final in the end", c.sort(append(finals, c.finals(d.Received(listed))...)), c.windows(end.Finals))
	differ("final of finals", c.finals(d.Received(paired)), c.pairs(end.Finals))
	if c.seed%4 == 0 {
		d.Crash()
		differ("final after the end", c.finals(d.Received(listed)), nil)
	}
	return strings.Join(diffs, "\n")
}

// exact says that the order of results is part of the promise: that of one task.
func (c modelCase) exact() bool {
	return c.setup.Partitions == 1 && (!c.setup.Regrouped || c.again < 2)
}

func (c modelCase) sort(list []string) []string {
	if !c.exact() {
		slices.Sort(list)
	}
	return list
}

func (c modelCase) finals(rs []stream.Record[window.Key[string], string]) []string {
	var list []string
	for _, r := range rs {
		if r.Time.UnixMilli() != r.Key.Span.EndMs()-1 {
			list = append(list, fmt.Sprintf("%v has the time %d", r.Key, r.Time.UnixMilli()))
		}
		list = append(list, c.row(r.Key.Key, r.Key.Span.StartMs(), r.Key.Span.EndMs(), r.Value))
	}
	return c.sort(list)
}

func (c modelCase) row(key string, start, end int64, ids string) string {
	words := strings.Fields(ids)
	if !c.exact() {
		slices.Sort(words)
	}
	return fmt.Sprintf("%s[%d,%d) %s", key, start, end, strings.Join(words, " "))
}

func (c modelCase) windows(ws []model.Window) []string {
	var list []string
	for _, w := range ws {
		list = append(list, c.row(w.Key, w.Start, w.End, strings.Join(c.texts(w.IDs), " ")))
	}
	return c.sort(list)
}

func (c modelCase) pairs(finals []model.Window) []string {
	if c.second == 0 {
		return nil
	}
	var list []string
	for _, p := range model.Chain(finals, c.second) {
		ids := ""
		for _, w := range p.Windows {
			ids += tagged(w.Start, w.End, c.texts(w.IDs))
		}
		list = append(list, c.row(p.Key, p.Start, p.End, ids))
	}
	return c.sort(list)
}

func (c modelCase) open(d *streamtest.Driver) []string {
	var list []string
	for k, ids := range d.Store[window.Key[string], string]("ids") {
		list = append(list, c.row(k.Key, k.Span.StartMs(), k.Span.EndMs(), ids))
	}
	if c.exact() && c.setup.Gap > 0 { // sessions are stored by key, and the model has them by end
		list = c.byEnd(list, model.Run(c.setup, c.events, false).Open)
	}
	return c.sort(list)
}

// byEnd puts a list into the order of windows, as far as it holds them.
func (c modelCase) byEnd(list []string, ws []model.Window) []string {
	order := c.windows(ws)
	slices.SortStableFunc(list, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return list
}

func (c modelCase) ids(rs []stream.Record[string, int64]) []string {
	var ids []int
	for _, r := range rs {
		ids = append(ids, int(r.Value))
	}
	return c.strings(ids)
}

func (c modelCase) strings(ids []int) []string { return c.sort(c.texts(ids)) }

func (c modelCase) texts(ids []int) (list []string) {
	for _, id := range ids {
		list = append(list, strconv.Itoa(id))
	}
	return list
}

// A caseTB stands for a test that one case is: its failure is not the end of the
// real test, which shrinks the case.
type caseTB struct {
	testing.TB
	failure string
	cleanup []func()
}

func (t *caseTB) Helper()          {}
func (t *caseTB) Failed() bool     { return t.failure != "" }
func (t *caseTB) Cleanup(f func()) { t.cleanup = append(t.cleanup, f) }

func (t *caseTB) Errorf(format string, args ...any) { t.failure += fmt.Sprintf(format, args...) }

func (t *caseTB) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(t)
}

func (t *caseTB) cleanUp() {
	for _, f := range t.cleanup {
		f()
	}
}
