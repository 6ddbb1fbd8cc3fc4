package streamtest_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/streamtest"
	"github.com/weirstream/weir/window"
)

type (
	numbers = stream.Stream[string, int64]
	number  = stream.Record[string, int64]
	topic   = stream.Topic[string, int64]
	windows = stream.WindowedTable[string, int64]
)

// of makes a topology of what to do with the stream of in.
func of(build func(s numbers)) func() *stream.Topology {
	return func() *stream.Topology {
		top := stream.New("app")
		build(top.Stream(in))
		return top
	}
}

// topologies are what the scenarios of testdata run, by name.
var topologies = map[string]func() *stream.Topology{
	"filter": of(func(s numbers) { s.Filter(positive).To(out) }),
	"filter-record": of(func(s numbers) {
		s.FilterRecord(func(r number) bool { return r.Deleted || r.Key == "a" && r.Time.UnixMilli() < 10 }).To(out)
	}),
	"map":        of(func(s numbers) { s.Map(func(n int64) string { return strings.Repeat("x", int(n)) }).To(words) }),
	"map-record": of(func(s numbers) { s.MapRecord(describe).To(words) }),
	"try-map":    of(func(s numbers) { s.OnError(stream.Skip()).TryMap(half).To(out) }),
	"try-map-record": of(func(s numbers) {
		s.OnError(stream.Skip()).TryMapRecord(func(r number) (int64, error) { return half(r.Value + r.Time.UnixMilli()) }).To(out)
	}),
	"flat-map": of(func(s numbers) { s.FlatMap(upTo).To(out) }),
	"flat-map-record": of(func(s numbers) {
		s.FlatMapRecord(func(r number) iter.Seq[string] { return slices.Values([]string{describe(r), "again"}) }).To(words)
	}),
	"delete-when": of(func(s numbers) { s.DeleteWhen(func(n int64) bool { return n == 0 }).To(out) }),
	"select-key":  of(func(s numbers) { s.SelectKey(digits).To(out) }),
	"select-key-record": of(func(s numbers) {
		s.SelectKeyRecord(func(r number) string { return fmt.Sprint(r.Key, r.Deleted) }).To(out)
	}),
	"merge": func() *stream.Topology {
		top := stream.New("app")
		top.Stream(in).Merge(top.Stream(other)).GroupByKey().Windowed(window.Tumbling(millis(10))).
			Reduce("sums", sum).Final().SelectKeyRecord(stream.WindowKey).To(windowed)
		return top
	},
	"split": of(func(s numbers) {
		even, rest := s.Split(func(n int64) bool { return n%2 == 0 })
		even.To(out)
		rest.To(odd)
	}),
	"set-headers": of(func(s numbers) {
		s.SetHeaders(func(r number) stream.Headers { return r.Headers.With("key", []byte(r.Key)) }).To(out)
	}),
	"repartition": of(func(s numbers) {
		s.SelectKey(digits).Repartition("by-digits").GroupByKey().Reduce("sums", sum).Updates().To(out)
	}),
	"group-by":     of(func(s numbers) { s.GroupBy("by-digits", digits).Count("counts").Updates().To(out) }),
	"group-by-key": of(func(s numbers) { s.GroupByKey().Count("counts").Updates().To(out) }),
	"route": of(func(s numbers) {
		s.OnError(stream.DeadLetter("dlq")).Route(func(r number) topic {
			return stream.NewTopic(map[int64]string{0: "out", 1: "odd", 2: "nowhere", 3: ""}[r.Value%4], serde.String, serde.Int64)
		})
	}),
	"reduce": of(func(s numbers) { s.GroupByKey().Reduce("sums", sum).Updates().To(out) }),
	"aggregate": of(func(s numbers) {
		s.GroupByKey().Aggregate("list", func() []int64 { return []int64{0} }, func(a []int64, n int64) []int64 { return append(a, n) }).
			Updates().Map(func(a []int64) string { return strings.ReplaceAll(fmt.Sprint(a), " ", ",") }).To(words)
	}),
	"to-table": of(func(s numbers) { s.ToTable("table").Updates().To(out) }),

	"tumbling-final": in10(func(w stream.Windowed[string, int64]) numbers { return w.Reduce("sums", sum).Final() }),
	"tumbling-count": in10(func(w stream.Windowed[string, int64]) numbers { return w.Count("counts").Final() }),
	"tumbling-aggregate": in10(func(w stream.Windowed[string, int64]) numbers {
		return w.Aggregate("max", func() int64 { return -1000 }, func(a, n int64) int64 { return max(a, n) }).Final()
	}),
	"tumbling-updates": in10(func(w stream.Windowed[string, int64]) numbers { return w.Reduce("sums", sum).Updates() }),
	"hopping-final":    inHops(windows.Final),
	"hopping-updates":  inHops(windows.Updates),
	"session-final":    inSessions(windows.Final),
	"session-updates":  inSessions(windows.Updates),
	"session-aggregate": of(func(s numbers) {
		join := func(a, b string) string { return a + "+" + b }
		s.GroupByKey().Sessions(window.Gap(millis(5)).Grace(millis(20))).
			Aggregate("text", func() string { return "0" }, func(a string, n int64) string { return a + "," + strconv.FormatInt(n, 10) }, join).
			Final().MapRecord(func(r stream.Record[string, string]) string { return windowText(stream.WindowKey(r)) + ":" + r.Value }).To(words)
	}),
	"chained": of(func(s numbers) {
		s.GroupByKey().Windowed(window.Tumbling(millis(10)).Grace(millis(5))).Count("first").Final().
			MapRecord(func(r number) int64 { return r.Value }).GroupByKey().Windowed(window.Tumbling(millis(30))).
			Reduce("second", sum).Final().SelectKeyRecord(stream.WindowKey).To(windowed)
	}),
	"updates-chained": of(func(s numbers) {
		s.GroupByKey().Windowed(window.Tumbling(millis(10))).Count("first").Updates().
			MapRecord(func(r number) int64 { return r.Value }).GroupByKey().Windowed(window.Tumbling(millis(10))).
			Count("second").Final().SelectKeyRecord(stream.WindowKey).To(windowed)
	}),

	"fail":            of(func(s numbers) { s.Map(reciprocal).To(out) }),
	"fail-try":        of(func(s numbers) { s.TryMap(half).To(out) }),
	"fail-in-updates": of(func(s numbers) { s.GroupByKey().Reduce("sums", sum).Updates().Map(reciprocal).To(out) }),
	"dead-letter-of-result": of(func(s numbers) {
		s.OnError(stream.DeadLetter("dlq")).GroupByKey().Windowed(window.Tumbling(millis(10))).Reduce("sums", sum).Final().
			MapRecord(func(r number) int64 { return 100 / (r.Value - 2) }).To(out)
	}),
	"skip":          of(func(s numbers) { s.OnError(stream.Skip()).Map(reciprocal).To(out) }),
	"dead-letter":   of(func(s numbers) { s.OnError(stream.DeadLetter("dlq")).Map(reciprocal).To(out) }),
	"retry":         retrying,
	"skip-in-folds": skipInFolds,
	"source-fail":   func() *stream.Topology { return source() },
	"source-skip":   func() *stream.Topology { return source(stream.OnError(stream.Skip())) },
	"source-dead-letter": func() *stream.Topology {
		return source(stream.OnError(stream.DeadLetter("dlq")))
	},
	"too-large": func() *stream.Topology {
		top := stream.New("app")
		top.Stream(lines, stream.OnError(stream.DeadLetter("dlq"))).Map(func(s string) string { return strings.Repeat(s, 100) }).To(words)
		return top
	},
	"too-large-fail": func() *stream.Topology {
		top := stream.New("app")
		top.Stream(lines).Map(func(s string) string { return strings.Repeat(s, 100) }).To(words)
		return top
	},
}

var topologyOptions = map[string][]streamtest.Option{
	"route":          {streamtest.Missing("nowhere")},
	"too-large":      {streamtest.MaxMessageBytes(500)},
	"too-large-fail": {streamtest.MaxMessageBytes(500)},
}

// in10 sums or counts in windows of 10 ms with a grace of 5 ms.
func in10(build func(stream.Windowed[string, int64]) numbers) func() *stream.Topology {
	return of(func(s numbers) {
		w := s.GroupByKey().Windowed(window.Tumbling(millis(10)).Grace(millis(5)))
		build(w).SelectKeyRecord(stream.WindowKey).To(windowed)
		w.Late().To(late)
	})
}

func inHops(out func(windows) numbers) func() *stream.Topology {
	return of(func(s numbers) {
		w := s.GroupByKey().Windowed(window.Hopping(millis(10), millis(4)).Offset(millis(1)))
		out(w.Count("counts")).SelectKeyRecord(stream.WindowKey).To(windowed)
		w.Late().To(late)
	})
}

func inSessions(out func(windows) numbers) func() *stream.Topology {
	return of(func(s numbers) {
		w := s.GroupByKey().Sessions(window.Gap(millis(5)).Grace(millis(3)))
		out(w.Reduce("sums", sum)).SelectKeyRecord(stream.WindowKey).To(windowed)
		w.Late().To(late)
	})
}

// retrying fails the first two times that it sees 1, and always at 2; at 3 with
// an error that no retry can mend.
func retrying() *stream.Topology {
	top := stream.New("app")
	tries := map[string]int{}
	f := func(r number) (int64, error) {
		tries[r.Key]++
		switch {
		case r.Value == 1 && tries[r.Key] <= 2, r.Value == 2:
			return 0, fmt.Errorf("attempt %d", tries[r.Key])
		case r.Value == 3:
			return 0, stream.Permanent(errors.New("for good"))
		}
		return int64(tries[r.Key]), nil
	}
	top.Stream(in).OnError(stream.DeadLetter("dlq").Retry(2, time.Second)).TryMapRecord(f).To(out)
	return top
}

// skipInFolds has user functions that fail in every kind of aggregation.
func skipInFolds() *stream.Topology {
	top := stream.New("app")
	fold := func(a, b int64) int64 { return a + 0*reciprocal(b) + b }
	s := top.Stream(in).OnError(stream.Skip())
	s.GroupByKey().Reduce("by-key", fold).Updates().To(out)
	s.GroupByKey().Windowed(window.Tumbling(millis(10))).Reduce("by-window", fold).Final().SelectKeyRecord(stream.WindowKey).To(windowed)
	s.GroupByKey().Sessions(window.Gap(millis(2))).Reduce("by-session", fold).Final().SelectKeyRecord(stream.WindowKey).To(windowed)
	return top
}

// source reads lines that hold their time before a colon.
func source(opts ...stream.SourceOption) *stream.Topology {
	type timed struct{ At int64 }
	top := stream.New("app")
	t := stream.NewTopic("lines", serde.String, serde.JSON[timed]()).Timestamps(func(v timed) time.Time {
		if v.At < 0 {
			panic("before time")
		}
		if v.At == 0 {
			return time.Time{}
		}
		return at(v.At)
	})
	top.Stream(t, opts...).Map(func(v timed) int64 { return v.At }).To(out)
	return top
}

func positive(n int64) bool { return n > 0 }

func sum(a, b int64) int64 { return a + b }

func reciprocal(n int64) int64 { return 100 / n }

func half(n int64) (int64, error) {
	if n%2 != 0 {
		return 0, fmt.Errorf("%d is odd", n)
	}
	return n / 2, nil
}

func digits(n int64) string { return fmt.Sprintf("%d-digits", len(strconv.FormatInt(n, 10))) }

func upTo(n int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := int64(1); i <= n; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

func describe(r number) string {
	return fmt.Sprintf("%s/%d/%v/%d/%s.%d.%d", r.Key, r.Value, r.Deleted, r.Time.UnixMilli(),
		r.Origin.Topic, r.Origin.Partition, r.Origin.Offset)
}

func windowText(k window.Key[string]) string {
	return fmt.Sprintf("%s[%d,%d)", k.Key, k.Span.StartMs(), k.Span.EndMs())
}
