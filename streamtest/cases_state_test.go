package streamtest_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/streamtest"
	"github.com/weirstream/weir/window"
)

func TestC25_FinalsAfterARestore(t *testing.T) {
	for _, vary := range []streamtest.Option{streamtest.CommitEvery(1), streamtest.Cache(0), streamtest.CrashEvery(1)} {
		d := streamtest.New(t, finals(window.Tumbling(millis(10)).Grace(millis(5))), vary)
		send := func(ms int64, trace string) {
			d.SendRecord(in, stream.Record[string, int64]{Key: "a", Value: 1, Time: at(ms),
				Headers: stream.Headers{{Key: "trace", Value: []byte(trace)}}})
		}
		send(0, "first")
		send(1, "last")
		d.CrashAndWipe()
		d.Send(in, "x", 1, at(15))
		got := d.Received(windowed)
		require.Equal(t, []string{"a[0,10)=2 @9"}, rows(got), "the time is the window's last millisecond")
		require.Equal(t, stream.Headers{{Key: "trace", Value: []byte("last")}}, got[0].Headers)
		d.CrashAndWipe()
		d.Send(in, "x", 1, at(16))
		require.Empty(t, d.Received(windowed))
	}
}

func TestC46_NullValuesAreNotAggregated(t *testing.T) {
	type point struct{ X *int64 }
	topic := stream.NewTopic("points", serde.String, serde.JSON[point]())
	sums := stream.NewTopic("sums", serde.String, serde.Int64)
	top := stream.New("app")
	top.Stream(topic).GroupByKey().Count("counts").Updates().To(out)
	top.Stream(topic).GroupByKey().Aggregate("sum", func() int64 { return 0 }, func(n int64, p point) int64 {
		if p.X != nil {
			n += *p.X
		}
		return n
	}).Updates().To(sums)
	top.Stream(topic).ToTable("latest")

	d := streamtest.New(t, top)
	ten := int64(10)
	d.SendRecord(topic, stream.Record[string, point]{Key: "11", Deleted: true, Time: at(0)})
	d.Send(topic, "11", point{}, at(1))
	d.Send(topic, "11", point{&ten}, at(2))
	require.Equal(t, []string{"11=1 @1", "11=2 @2"}, plain(d.Received(out)))
	require.Equal(t, map[string]int64{"11": 10}, maps.Collect(d.Store[string, int64]("sum")))
	require.Equal(t, map[streamtest.Drop]int64{{Operator: "counts", Reason: "null_value"}: 1,
		{Operator: "sum", Reason: "null_value"}: 1}, d.Drops())
	require.Len(t, maps.Collect(d.Store[string, point]("latest")), 1)
	d.SendRecord(topic, stream.Record[string, point]{Key: "11", Deleted: true, Time: at(3)})
	require.Empty(t, maps.Collect(d.Store[string, point]("latest")), "to a table, a null value is a deletion")
}

func TestC47_TombstonesReachTheTable(t *testing.T) {
	for _, opts := range [][]streamtest.Option{{}, {streamtest.Cache(0)}, {streamtest.CrashEvery(1)},
		{streamtest.Cache(0), streamtest.CrashEvery(1)}} {
		top := stream.New("app")
		top.Stream(in).ToTable("table").Updates().To(out)
		d := streamtest.New(t, top, opts...)
		d.Send(in, "k", 1, at(1))
		d.Send(in, "other", 2, at(2))
		d.SendRecord(in, stream.Record[string, int64]{Key: "k", Deleted: true, Time: at(3)})
		left := map[string]int64{"other": 2}
		require.Equal(t, left, maps.Collect(d.Store[string, int64]("table")))
		require.Equal(t, []string{"k=1 @1", "other=2 @2", "k deleted @3"}, plain(d.Received(out)))
		require.Equal(t, []string{"k", "other", "k deleted"}, streamtest.Changelog(d, "table"))

		for _, restart := range []func(){d.Crash, d.CrashAndWipe} {
			restart()
			require.Equal(t, left, maps.Collect(d.Store[string, int64]("table")))
		}
		d.SendRecord(in, stream.Record[string, int64]{Key: "k", Deleted: true, Time: at(4)})
		require.Empty(t, d.Received(out), "what is gone cannot go")
	}
}

func TestC74_RestoredWindowsClose(t *testing.T) {
	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
		d := streamtest.New(t, finals(window.Tumbling(millis(10))), vary)
		want := []string{}
		for i := range 50 {
			d.Send(in, fmt.Sprintf("k%02d", i), 1, at(int64(i%10)))
			want = append(want, fmt.Sprintf("k%02d[0,10)=1 @9", i))
		}
		d.CrashAndWipe()
		d.Send(in, "x", 1, at(1000))
		require.ElementsMatch(t, want, rows(d.Received(windowed)))
		x := map[window.Key[string]]int64{{Key: "x", Span: window.Millis(1000, 1010)}: 1}
		require.Equal(t, x, maps.Collect(d.Store[window.Key[string], int64]("counts")))
		require.Empty(t, d.Drops(), "counts are per partition, and times here are in one")
		d.CrashAndWipe()
		require.Equal(t, x, maps.Collect(d.Store[window.Key[string], int64]("counts")))
		d.Send(in, "y", 1, at(3000))
		require.LessOrEqual(t, streamtest.ChangelogLength(d, "counts"), 2, "the changelog's head is cut off")
	})
}
