package streamtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/streamtest"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

// regrouped is finals behind a repartition topic: its tasks depend on all
// partitions of in.
func regrouped(w window.Fixed, s watermark.Strategy) *stream.Topology {
	top := stream.New("app")
	counts := top.Stream(in, stream.Watermarks(s)).Repartition("again").GroupByKey().Windowed(w)
	counts.Count("counts").Final().SelectKeyRecord(stream.WindowKey).To(windowed)
	counts.Late().To(late)
	return top
}

// on sends a record of in to a partition.
func on(d *streamtest.Driver, partition int32, key string, ms int64) {
	d.SendRecord(in, stream.Record[string, int64]{Key: key, Value: 1, Time: at(ms), Origin: stream.Origin{Topic: "in", Partition: partition}})
}

func TestC16_EmptyPartition(t *testing.T) {
	late := map[streamtest.Drop]int64{{Operator: "counts", Reason: "late"}: 1}
	t.Run("holds time back", func(t *testing.T) {
		d := streamtest.New(t, regrouped(window.Tumbling(millis(10)), watermark.Bounded(0)), streamtest.Partitions(2))
		on(d, 0, "a", 0)
		on(d, 0, "a", 25)
		d.Sleep(24 * time.Hour)
		require.Empty(t, d.Received(windowed))
	})
	t.Run("is left out when idle", func(t *testing.T) {
		// Not where it crashes after each step: a partition must be silent for a whole timeout of one process.
		for _, vary := range []streamtest.Option{streamtest.Workers(1), streamtest.Workers(3), streamtest.Cache(0), streamtest.CommitEvery(9)} {
			strategy := watermark.Bounded(0).Idle(time.Second)
			d := streamtest.New(t, regrouped(window.Tumbling(millis(10)), strategy), streamtest.Partitions(2), vary)
			on(d, 0, "a", 0)
			on(d, 0, "a", 25)
			d.Sleep(990 * time.Millisecond)
			require.Empty(t, d.Received(windowed))
			on(d, 0, "a", 26)
			d.Sleep(10 * time.Millisecond)
			require.Equal(t, []string{"a[0,10)=1 @9"}, rows(d.Received(windowed)))
			on(d, 1, "b", 3)
			require.Equal(t, late, d.Drops())
			on(d, 1, "b", 100)
			on(d, 0, "a", 100)
			require.Equal(t, []string{"a[20,30)=2 @29"}, rows(d.Received(windowed)))
		}
	})
	t.Run("is left out where topics meet, two repartition topics on", func(t *testing.T) {
		strategy := stream.Watermarks(watermark.Bounded(0).Idle(time.Second))
		top := stream.New("app")
		a, b := top.Stream(in, strategy).Repartition("a").Repartition("aa"), top.Stream(other, strategy).Repartition("b")
		a.Merge(b).GroupByKey().Windowed(window.Tumbling(millis(10))).Count("counts").Final().SelectKeyRecord(stream.WindowKey).To(windowed)
		d := streamtest.New(t, top)
		d.Send(in, "a", 1, at(5))
		d.Sleep(600 * time.Millisecond)
		d.Send(in, "a", 1, at(15))
		require.Empty(t, d.Received(windowed), "other has said nothing")
		d.Sleep(600 * time.Millisecond)
		d.Send(in, "a", 1, at(16))
		require.Equal(t, []string{"a[0,10)=1 @9"}, rows(d.Received(windowed)))
		d.Send(other, "a", 1, at(17))
		d.Send(in, "a", 1, at(25))
		require.Empty(t, d.Received(windowed), "other is not idle any more, and stands at 17")
		d.Send(other, "a", 1, at(20))
		require.Equal(t, []string{"a[10,20)=3 @19"}, rows(d.Received(windowed)))
	})
	t.Run("does not stop time that runs on", func(t *testing.T) {
		strategy := watermark.Bounded(0).Idle(time.Second).AdvanceWhenIdle()
		d := streamtest.New(t, regrouped(window.Tumbling(millis(10_000)), strategy), streamtest.Partitions(2))
		on(d, 0, "a", 0)
		d.Sleep(12 * time.Second)
		require.Equal(t, []string{"a[0,10000)=1 @9999"}, rows(d.Received(windowed)))
	})
}

func TestC18_InstanceWithoutPartitionsHasNoVote(t *testing.T) {
	topology := func() *stream.Topology {
		top := stream.New("app")
		first := top.Stream(in).GroupByKey().Windowed(window.Tumbling(millis(10))).Count("first").Final()
		second := first.MapRecord(func(r stream.Record[string, int64]) int64 { return r.Value }).Repartition("again", stream.Partitions(3))
		second.GroupByKey().Windowed(window.Tumbling(millis(20))).Reduce("second", func(a, b int64) int64 { return a + b }).
			Final().SelectKeyRecord(stream.WindowKey).To(windowed)
		return top
	}
	for _, instances := range []int{1, 2, 3, 5} {
		d := streamtest.New(t, topology(), streamtest.Partitions(2), streamtest.Workers(instances))
		for _, ts := range []int64{0, 5, 12, 18, 25} {
			on(d, 0, "a", ts)
			on(d, 1, "b", ts)
		}
		require.ElementsMatch(t, []string{"a[0,20)=4 @19", "b[0,20)=4 @19"}, rows(d.Received(windowed)))
		d.Rescale(3)
		on(d, 0, "a", 40)
		require.Empty(t, d.Received(windowed), "partition 1 stands at 25")
		d.Rescale(instances)
		on(d, 1, "b", 40)
		require.ElementsMatch(t, []string{"a[20,40)=1 @39", "b[20,40)=1 @39"}, rows(d.Received(windowed)))
		require.Empty(t, d.Drops())
	}
}

func TestC19_TimeSurvivesARestart(t *testing.T) {
	d := streamtest.New(t, updates(window.Tumbling(millis(10))))
	d.Send(in, "a", 1, at(0))
	d.Send(in, "a", 1, at(100))
	require.Equal(t, []string{"a[0,10)=1 @0", "a[100,110)=1 @100"}, rows(d.Received(windowed)))
	for i, restart := range []func(){d.Crash, d.CrashAndWipe} {
		restart()
		d.Send(in, "a", 1, at(5))
		require.Empty(t, d.Received(windowed))
		require.Equal(t, map[streamtest.Drop]int64{{Operator: "counts", Reason: "late"}: int64(i + 1)}, d.Drops())
	}
}

func TestC21_RecordFromTheFuture(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dlq := stream.NewTopic("dlq", serde.String, serde.Int64)
	perMinute := window.Tumbling(time.Minute).Grace(time.Minute)
	feed := func(d *streamtest.Driver) {
		for i := range 3 {
			d.Send(in, "k", 1, now.Add(time.Duration(i)*time.Second))
		}
		d.Send(in, "k", 99, now.Add(24*time.Hour))
		for i := range 10 {
			d.Send(in, "k", 1, now.Add(time.Duration(i)*time.Second))
		}
		d.Advance(now.Add(2 * time.Minute))
	}
	values := func(rs []stream.Record[window.Key[string], int64]) (list []int64) {
		for _, r := range rs {
			list = append(list, r.Value)
		}
		return list
	}
	guarded := stream.Watermarks(watermark.Bounded(0).MaxAhead(time.Hour))
	for name, policy := range map[string]stream.ErrorPolicy{"skip": stream.Skip(), "dead letter": stream.DeadLetter("dlq")} {
		t.Run(name, func(t *testing.T) {
			d := streamtest.New(t, finals(perMinute, guarded, stream.OnError(policy)), streamtest.Clock(now))
			feed(d)
			require.Equal(t, []int64{13}, values(d.Received(windowed)))
			require.Equal(t, map[streamtest.Drop]int64{{Operator: "in", Reason: "future"}: 1}, d.Drops())
			if name == "dead letter" {
				require.Equal(t, []int64{99}, d.Values(dlq))
			}
		})
	}
	t.Run("fail", func(t *testing.T) {
		d := streamtest.New(t, finals(perMinute, guarded), streamtest.Clock(now))
		d.Send(in, "k", 1, now.Add(time.Hour))
		err := d.Fails(func() { d.Send(in, "k", 1, now.Add(time.Hour+time.Millisecond)) })
		require.ErrorContains(t, err, `operator in: in, partition 0, offset 1, key "k": its event time 2026-03-01T13:00:00.001Z is further ahead`)
	})
	t.Run("no guard", func(t *testing.T) {
		d := streamtest.New(t, finals(perMinute), streamtest.Clock(now))
		feed(d)
		require.Equal(t, []int64{3}, values(d.Received(windowed)))
		require.Equal(t, map[streamtest.Drop]int64{{Operator: "counts", Reason: "late"}: 10}, d.Drops())
		require.Len(t, d.Received(late), 10)
	})
}

func TestC22_CachedUpdatesAreNotLost(t *testing.T) {
	for _, cache := range []int64{0, 300, 1 << 20} {
		d := streamtest.New(t, finals(window.Tumbling(millis(10))), streamtest.Cache(cache))
		d.Send(in, "a", 1, at(0))
		d.Send(in, "b", 1, at(100))
		require.Equal(t, []string{"a[0,10)=1 @9"}, rows(d.Received(windowed)))
		d.Advance(at(105))
		require.Empty(t, d.Received(windowed))
	}
}

func TestC27_FinalsDoNotWaitForTheirKey(t *testing.T) {
	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
		d := streamtest.New(t, finals(window.Tumbling(millis(10))), vary)
		d.Send(in, "k", 1, at(0))
		d.Send(in, "x", 1, at(9))
		d.Sleep(48 * time.Hour)
		require.Empty(t, d.Received(windowed), "without data, event time stands")
		d.Send(in, "y", 1, at(10))
		require.Equal(t, []string{"k[0,10)=1 @9", "x[0,10)=1 @9"}, rows(d.Received(windowed)))
	})
	t.Run("time runs on with the clock", func(t *testing.T) {
		streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
			strategy := stream.Watermarks(watermark.Bounded(0).Idle(time.Second).AdvanceWhenIdle())
			d := streamtest.New(t, finals(window.Tumbling(10*time.Second), strategy), vary)
			d.Send(in, "k", 1, at(4000))
			d.Sleep(6900 * time.Millisecond) // of which it is idle for 5900
			require.Empty(t, d.Received(windowed))
			d.Sleep(1200 * time.Millisecond) // a restart makes it wait for the timeout once more
			require.Equal(t, []string{"k[0,10000)=1 @9999"}, rows(d.Received(windowed)))
		})
	})
}
