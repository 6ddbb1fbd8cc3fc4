package streamtest_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/streamtest"
	"github.com/weirstream/weir/window"
)

// The tests named C01, C02, ... stand for bugs that other engines had: each is
// the input that showed one, with the right answer.

func TestC01_NegativeTimes(t *testing.T) {
	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
		d := streamtest.New(t, finals(window.Tumbling(millis(10)).Grace(millis(100))), vary)
		for _, ts := range []int64{-11, -10, -1, 0, 9, 10} {
			d.Send(in, "k", 1, at(ts))
		}
		d.Advance(at(1000))
		require.Equal(t, []string{"k[-20,-10)=1 @-11", "k[-10,0)=2 @-1", "k[0,10)=2 @9", "k[10,20)=1 @19"}, rows(d.Received(windowed)))
		require.Empty(t, d.Drops())
	})
	t.Run("hopping", func(t *testing.T) {
		d := streamtest.New(t, finals(window.Hopping(millis(10), millis(5))))
		d.Send(in, "k", 1, at(-1))
		d.Advance(at(1000))
		require.Equal(t, []string{"k[-10,0)=1 @-1", "k[-5,5)=1 @4"}, rows(d.Received(windowed)))
	})
}

func TestC03_RecordsOnTheBoundary(t *testing.T) {
	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
		d := streamtest.New(t, finals(window.Tumbling(millis(10))), vary)
		d.Send(in, "k", 1, at(0))
		d.Send(in, "k", 1, at(9))
		require.Empty(t, d.Received(windowed))
		d.Send(in, "k", 1, at(10))
		require.Equal(t, []string{"k[0,10)=2 @9"}, rows(d.Received(windowed)))
		d.Send(in, "x", 1, at(20))
		require.Equal(t, []string{"k[10,20)=1 @19"}, rows(d.Received(windowed)))
	})
}

func TestC04_Offset(t *testing.T) {
	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
		d := streamtest.New(t, finals(window.Tumbling(millis(10)).Offset(millis(3))), vary)
		d.Send(in, "k", 1, at(4))
		d.Send(in, "x", 1, at(10))
		require.Empty(t, d.Received(windowed))
		d.Send(in, "k", 1, at(12))
		d.Send(in, "k", 1, at(13))
		require.Equal(t, []string{"k[3,13)=2 @12", "x[3,13)=1 @12"}, rows(d.Received(windowed)))
		d.Send(in, "x", 1, at(23))
		require.Equal(t, []string{"k[13,23)=1 @22"}, rows(d.Received(windowed)))
	})
}

func TestC08_ExactlyAtEndAndGrace(t *testing.T) {
	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
		d := streamtest.New(t, finals(window.Tumbling(millis(10)).Grace(millis(5))), vary)
		d.Send(in, "k", 1, at(0))
		d.Send(in, "x", 1, at(14))
		d.Send(in, "k", 2, at(3))
		require.Empty(t, d.Received(windowed))
		d.Send(in, "x", 1, at(15))
		require.Equal(t, []string{"k[0,10)=2 @9"}, rows(d.Received(windowed)))
		d.Send(in, "k", 3, at(4))
		d.Advance(at(15))
		require.Empty(t, d.Received(windowed))
		require.Equal(t, map[streamtest.Drop]int64{{Operator: "counts", Reason: "late"}: 1}, d.Drops())
		require.Equal(t, []string{"k=3 @4"}, plain(d.Received(late)))
	})
}

func TestC09_TimeOfTheWatermarkIsNotLate(t *testing.T) {
	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
		d := streamtest.New(t, finals(window.Tumbling(millis(10))), vary)
		d.Send(in, "k", 1, at(10))
		require.Empty(t, d.Received(windowed)) // commits: a batch ends here
		d.Send(in, "k", 1, at(10))
		d.Send(in, "x", 1, at(20))
		require.Equal(t, []string{"k[10,20)=2 @19"}, rows(d.Received(windowed)))
		require.Empty(t, d.Drops())
	})
}

// sessions is a topology of the counts of sessions of in.
func sessions(w window.Session, table func(stream.WindowedTable[string, int64]) stream.Stream[string, int64]) *stream.Topology {
	top := stream.New("app")
	s := top.Stream(in).GroupByKey().Sessions(w)
	table(s.Reduce("sums", func(a, b int64) int64 { return a + b })).SelectKeyRecord(stream.WindowKey).To(windowed)
	return top
}

func TestC11_LateRecordStaysOutOfTheNextSession(t *testing.T) {
	d := streamtest.New(t, sessions(window.Gap(millis(5)), stream.WindowedTable[string, int64].Updates))
	d.Send(in, "k", 1, at(0))
	d.Send(in, "x", 1, at(100))
	require.Equal(t, []string{"k[0,1)=1 @0", "x[100,101)=1 @100"}, rows(d.Received(windowed)))
	d.Send(in, "k", 1, at(3))
	d.Send(in, "k", 1, at(98))
	require.Equal(t, []string{"k[98,99)=1 @98"}, rows(d.Received(windowed)))
	require.Equal(t, map[streamtest.Drop]int64{{Operator: "sums", Reason: "late"}: 1}, d.Drops())
}

func TestC12_SessionIsOpenForAsLongAsItCanGrow(t *testing.T) {
	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
		d := streamtest.New(t, sessions(window.Gap(millis(10)), stream.WindowedTable[string, int64].Final), vary)
		d.Send(in, "k", 1, at(0))
		d.Send(in, "x", 1, at(10))
		d.Send(in, "k", 1, at(10))
		d.Send(in, "x", 1, at(20))
		require.Empty(t, d.Received(windowed))
		d.Send(in, "x", 1, at(21))
		require.Equal(t, []string{"k[0,11)=2 @10"}, rows(d.Received(windowed)))
		d.Advance(at(31))
		require.Empty(t, d.Received(windowed))
		d.Advance(at(32))
		require.Equal(t, []string{"x[10,22)=3 @21"}, rows(d.Received(windowed)))
	})
}

func TestC14_RecordBridgesTwoSessions(t *testing.T) {
	for _, opts := range [][]streamtest.Option{{}, {streamtest.CrashEvery(1)}, {streamtest.Cache(0)},
		{streamtest.Cache(0), streamtest.CrashEvery(1)}} {
		top := sessions(window.Gap(millis(5)).Grace(millis(100)), stream.WindowedTable[string, int64].Updates)
		top.Use(windowed.Key)
		top.Stream(windowed).ToTable("table")
		d := streamtest.New(t, top, opts...)
		d.Send(in, "k", 1, at(0))
		d.Send(in, "k", 1, at(10))
		require.Equal(t, []string{"k[0,1)=1 @0", "k[10,11)=1 @10"}, rows(d.Received(windowed)))
		require.Len(t, maps.Collect(d.Store[window.Key[string], int64]("sums")), 2)

		d.Send(in, "k", 1, at(5))
		got := rows(d.Received(windowed))
		require.ElementsMatch(t, []string{"k[0,1) deleted @0", "k[10,11) deleted @10"}, got[:len(got)-1])
		require.Equal(t, "k[0,11)=3 @10", got[len(got)-1])
		merged := map[window.Key[string]]int64{{Key: "k", Span: window.Millis(0, 11)}: 3}
		require.Equal(t, merged, maps.Collect(d.Store[window.Key[string], int64]("sums")))
		require.Equal(t, merged, maps.Collect(d.Store[window.Key[string], int64]("table")))

		d.Send(in, "k", 1, at(7))
		require.Equal(t, []string{"k[0,11)=4 @10"}, rows(d.Received(windowed)))
	}
}
