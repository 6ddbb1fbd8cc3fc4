package streamtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/streamtest"
	"github.com/weirstream/weir/window"
)

// failure is what a driver says to a test that it fails.
func failure(t *testing.T, f func(t testing.TB)) (text string) {
	guarded := &caseTB{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(guarded) {
			panic(p)
		}
		guarded.cleanUp()
		text = guarded.failure
	}()
	f(guarded)
	return ""
}

func copied() *stream.Topology {
	top := stream.New("app")
	top.Stream(in).To(out)
	return top
}

// Mistakes of a test are told in its own terms.
func TestMistakesOfTests(t *testing.T) {
	for name, c := range map[string]struct {
		want string
		do   func(t testing.TB)
	}{
		"topology": {"the topology does not build:\n", func(t testing.TB) { streamtest.New(t, stream.New("empty")) }},
		"topic": {"the topology does not read topic out", func(t testing.TB) {
			streamtest.New(t, copied()).Send(out, "a", 1, at(0))
		}},
		"partition": {"topic in has 1 partitions, and no number 3; see Partitions", func(t testing.TB) {
			d := streamtest.New(t, copied())
			d.SendRecord(in, stream.Record[string, int64]{Origin: stream.Origin{Partition: 3}})
		}},
		"store": {"the topology has no store nothing", func(t testing.TB) {
			for range streamtest.New(t, copied()).Store[string, int64]("nothing") {
			}
		}},
		"key of store": {"the keys of store counts are window.Key[string], not string", func(t testing.TB) {
			d := streamtest.New(t, finals(window.Tumbling(millis(10))))
			d.Send(in, "a", 1, at(0))
			for range d.Store[string, int64]("counts") {
			}
		}},
		"value of store": {"store table holds int64, not string", func(t testing.TB) {
			top := stream.New("app")
			top.Stream(in).ToTable("table")
			d := streamtest.New(t, top)
			d.Send(in, "a", 1, at(0))
			for range d.Store[string, string]("table") {
			}
		}},
		"serde of output": {"out, partition 0, offset 0: cannot decode the value", func(t testing.TB) {
			d := streamtest.New(t, copied())
			d.Send(in, "a", 1, at(0))
			d.Received(stream.NewTopic("out", serde.String, serde.Int32))
		}},
		"missing topic": {"the app has stopped: task 0_0: sink out: topic out does not exist", func(t testing.TB) {
			streamtest.New(t, copied(), streamtest.Missing("out"))
		}},
		"failing function": {"the app has stopped: operator map-1: in, partition 0, offset 0, key \"a\": panic: ", func(t testing.TB) {
			streamtest.New(t, topologies["fail"]()).Send(in, "a", 0, at(0))
		}},
		"no failure": {"the app was expected to stop, and has not", func(t testing.TB) {
			_ = streamtest.New(t, copied()).Fails(func() {})
		}},
	} {
		t.Run(name, func(t *testing.T) { require.Contains(t, failure(t, c.do), c.want) })
	}
}

func TestPartitionsAndOrigins(t *testing.T) {
	d := streamtest.New(t, copied(), streamtest.Partitions(3), streamtest.Partitions(2, "out"))
	for i := range int32(3) {
		d.SendRecord(in, stream.Record[string, int64]{Key: "k", Value: int64(i), Time: at(0), Origin: stream.Origin{Topic: "in", Partition: i}})
	}
	for i, r := range d.Received(out) {
		require.Equal(t, int64(i), r.Value)
		require.Equal(t, "out", r.Origin.Topic)
		require.Equal(t, int32(0), r.Origin.Partition, "where murmur2 puts k, of two")
		require.Equal(t, int64(2*i), r.Origin.Offset, "each transaction ends with a marker")
	}
	require.Empty(t, d.Received(out), "they were taken")
}

// What is sent to an app that has stopped waits; a crash starts it again, from
// its last commit.
func TestStoppedAppTakesUpItsLastCommit(t *testing.T) {
	broken := false
	top := stream.New("app")
	top.Stream(in).Map(func(n int64) int64 {
		if broken {
			panic("broken")
		}
		return n
	}).To(out)
	d := streamtest.New(t, top)
	d.Send(in, "a", 1, at(0))
	broken = true
	require.ErrorContains(t, d.Fails(func() { d.Send(in, "a", 2, at(1)) }), "panic: broken")
	d.Send(in, "a", 3, at(2))
	require.Equal(t, []int64{1}, d.Values(out))
	broken = false
	d.Crash()
	require.Equal(t, []int64{2, 3}, d.Values(out))
}

// Records of an interval can be read when it is committed, and those of one that
// crashed never; they are written again.
func TestUncommittedOutputIsNotSeen(t *testing.T) {
	calls := 0
	top := stream.New("app")
	top.Stream(in).Peek(func(stream.Record[string, int64]) { calls++ }).To(out)
	top.Stream(out).Map(func(n int64) string { return fmt.Sprint(n) }).To(words)
	d := streamtest.New(t, top, streamtest.CommitEvery(100))
	d.Send(in, "a", 1, at(0))
	d.Crash()
	d.Send(in, "a", 2, at(1))
	require.Equal(t, []string{"1", "2"}, d.Values(words))
	require.Equal(t, 3, calls)
	require.Equal(t, int64(2), d.Received(out)[0].Origin.Offset, "after the record of the transaction that died, and its marker")
}

func TestFromSkipsWhatIsOlder(t *testing.T) {
	top := stream.New("app")
	top.Stream(in, stream.From(at(10))).To(out)
	d := streamtest.New(t, top, streamtest.CommitEvery(100))
	d.Send(in, "a", 1, at(9))
	d.Send(in, "a", 2, at(10))
	d.Send(in, "a", 3, at(1))
	d.Crash() // before the first commit: the app starts for the first time once more
	require.Equal(t, []int64{2, 3}, d.Values(out))
	d.Crash()
	require.Empty(t, d.Values(out))
}

func TestRetriesWaitOnTheClock(t *testing.T) {
	start := time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)
	d := streamtest.New(t, retrying(), streamtest.Clock(start))
	d.Send(in, "b", 2, at(0))
	got := d.Received(dlq)
	require.Len(t, got, 1)
	require.Equal(t, fmt.Sprint(start.Add(3*time.Second).UnixMilli()),
		string(got[0].Headers.Get("weir.dlq.first-seen")), "one second, and then two")
}

func TestFinishClosesEverything(t *testing.T) {
	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
		d := streamtest.New(t, topologies["chained"](), vary)
		d.Send(in, "a", 1, at(5))
		d.Finish()
		require.Equal(t, []string{"a[0,30)=1 @29"}, rows(d.Received(windowed)))
		d.Crash()
		d.Send(in, "a", 1, at(65))
		d.Finish()
		require.Equal(t, []string{"a[60,90)=1 @89"}, rows(d.Received(windowed)), "a run that follows opens windows of its own")
	})
}
