package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

// merged reads two topics into one.
func merged(opts ...stream.SourceOption) *stream.Topology {
	top := stream.New("app")
	top.Stream(left, opts...).Merge(top.Stream(right, opts...)).To(out)
	return top
}

func TestTakesTheOldestOfItsInputs(t *testing.T) {
	f := newFixture(t, merged(), 1)
	tk := f.open(0, 0)
	tk.Add("left", []*kgo.Record{rec("left", 0, 10), rec("left", 1, 30)}, 2)
	tk.Add("right", []*kgo.Record{rec("right", 0, 20), rec("right", 1, 20), rec("right", 2, 40)}, 3)
	run(t, tk)
	require.Equal(t, []string{"left-0", "right-0", "right-1", "left-1", "right-2"}, f.values("out"))
	require.Equal(t, int64(30), tk.Watermark())
}

// An input that is known to hold more must come first: what it holds may be
// older. At its end there is nothing to wait for.
func TestWaitsForAnInputThatIsBehind(t *testing.T) {
	f := newFixture(t, merged(), 1)
	tk := f.open(0, 0)
	tk.Add("right", nil, 2)
	tk.Add("left", []*kgo.Record{rec("left", 0, 10)}, 1)
	run(t, tk)
	require.Empty(t, f.values("out"))
	require.False(t, tk.Ready())
	tk.Add("right", []*kgo.Record{rec("right", 0, 5), rec("right", 1, 15)}, 2)
	run(t, tk)
	require.Equal(t, []string{"right-0", "left-0", "right-1"}, f.values("out"))
	tk.Add("left", []*kgo.Record{rec("left", 1, 50)}, 2)
	run(t, tk)
	require.Equal(t, []string{"left-1"}, f.values("out"))
}

func TestRecordsThatComeAgainAreIgnored(t *testing.T) {
	f := newFixture(t, merged(), 1)
	tk := f.open(0, 0, checkpoint.Offset{Topic: "left", Offset: 2, Meta: checkpoint.NoMeta},
		checkpoint.Offset{Topic: "right", Meta: checkpoint.NoMeta})
	tk.Add("left", []*kgo.Record{rec("left", 0, 1), rec("left", 1, 1), rec("left", 2, 1)}, 3)
	tk.Add("left", []*kgo.Record{rec("left", 1, 1), rec("left", 2, 1), rec("left", 5, 1)}, 6) // 3 and 4 were compacted, or aborted
	tk.Add("nobody", []*kgo.Record{rec("nobody", 0, 1)}, 1)
	run(t, tk)
	require.Equal(t, []string{"left-2", "left-5"}, f.values("out"))
	require.Equal(t, int64(6), commit(t, tk, 1)[0].Offset)
}

// C16: a partition that is slow has records that have not come yet.
func TestSlowIsNotIdle(t *testing.T) {
	top := stream.New("app")
	top.Stream(left, stream.Watermarks(watermark.Bounded(0).Idle(time.Second))).To(out)
	f := newFixture(t, top, 1)
	tk := f.open(0, 0)
	ask := func() (asked bool) {
		f.now += 1000
		tk.Tick(f.now, false, func(string, int32) { asked = true })
		return asked
	}
	require.True(t, ask())
	tk.Answer("left", f.now, 3)
	require.False(t, tk.Idle(), "three records are still to come")
	tk.Add("left", []*kgo.Record{rec("left", 2, 1)}, 3)
	run(t, tk)
	require.False(t, ask(), "it was not silent")
	require.True(t, ask())
	tk.Answer("left", f.now, 3)
	require.True(t, tk.Idle())
	tk.Add("left", []*kgo.Record{rec("left", 3, 1)}, 4)
	run(t, tk)
	require.False(t, tk.Idle())
	f.now += 1000
	tk.Tick(f.now, true, func(string, int32) { t.Fatal("a paused partition is silent for our own reasons") })
}

func TestBadRecordsOfInternalTopicsStopTheTask(t *testing.T) {
	top := stream.New("app")
	top.Stream(left, stream.OnError(stream.Skip())).Repartition("again").To(out)
	control := []kgo.RecordHeader{{Key: task.ControlHeader}}
	for name, c := range map[string]struct {
		rec  *kgo.Record
		want string
	}{
		"somebody else's": {rec("app-again-repartition", 7, 1),
			"partition 0, offset 7, key \"k\": the record was not written by this application"},
		"number of tasks": {
			&kgo.Record{Topic: "app-again-repartition", Offset: 8, Headers: control,
				Value: watermark.AppendControl(nil, []watermark.Progress{{Task: 0, Tasks: 3}})},
			"app-again-repartition, partition 0, offset 8: control record of 2 upstream tasks: " +
				"watermark: upstream task 0 says that it is one of 3 tasks",
		},
		"damaged": {&kgo.Record{Topic: "app-again-repartition", Headers: control, Value: []byte{9}}, "control record has version 9"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, top, 2)
			tk := f.open(1, 0)
			tk.Add("app-again-repartition", []*kgo.Record{c.rec}, 9)
			_, err := tk.Step(1)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A closing that was interrupted at a key too long for the metadata of offsets
// goes on to the next.
func TestPositionMustFitIntoMetadata(t *testing.T) {
	top := stream.New("app")
	w := top.Stream(left).GroupByKey().Windowed(window.Tumbling(10 * time.Millisecond))
	w.Count("counts").Final().MapRecord(func(r stream.Record[string, int64]) string { return r.Key }).To(out)
	f := newFixture(t, top, 1)
	tk := f.open(0, 0)
	var recs []*kgo.Record
	for i := range task.CloseStep + 5 {
		r := rec("left", int64(i), 1)
		r.Key = []byte(string(rune('a'+i%20)) + strings.Repeat("x", 4000) + string(rune(0x100+i)))
		recs = append(recs, r)
	}
	tk.Add("left", append(recs, rec("left", int64(len(recs)), 10)), int64(len(recs))+1)
	for !tk.Firing() {
		_, err := tk.Step(100)
		require.NoError(t, err)
	}
	require.False(t, tk.MayCommit())
	run(t, tk)
	require.True(t, tk.MayCommit())
	require.Len(t, f.values("out"), task.CloseStep+5)
}

// Without anything done there is nothing to commit; with anything, all inputs
// are named, so that the group's generation fences the task.
func TestOffsetsNameAllInputsOrNone(t *testing.T) {
	f := newFixture(t, merged(), 1)
	tk := f.open(0, 0)
	require.Empty(t, commit(t, tk, 1))
	tk.Add("left", []*kgo.Record{rec("left", 0, 10)}, 1)
	run(t, tk)
	require.Equal(t, []checkpoint.Offset{
		{Topic: "left", Offset: 1, Meta: checkpoint.Meta{Partition: 10, Task: watermark.None, Fired: watermark.None}},
		{Topic: "right", Meta: checkpoint.NoMeta},
	}, commit(t, tk, 2))
	require.Empty(t, commit(t, tk, 3))
	tk.Told()
	require.Len(t, commit(t, tk, 4), 2)
	require.Empty(t, commit(t, tk, 5))
}

func TestBoundedRunEndsAtInfinity(t *testing.T) {
	f := newFixture(t, merged(), 1)
	tk := f.open(0, 0)
	tk.Bound(func(topic string, _ int32) int64 { return map[string]int64{"left": 2, "right": 0}[topic] })
	require.False(t, tk.Done())
	tk.Add("left", []*kgo.Record{rec("left", 0, 10), rec("left", 1, 30), rec("left", 2, 90)}, 3)
	run(t, tk)
	require.True(t, tk.Done())
	require.Equal(t, []string{"left-0", "left-1"}, f.values("out"))
	offsets := commit(t, tk, 1)
	require.Equal(t, int64(2), offsets[0].Offset, "what is beyond the end is read by the next run")
	require.Equal(t, int64(30), offsets[0].Meta.Task, "time stands where the data ended")
}

func TestPanicsNameOperatorAndRecord(t *testing.T) {
	top := stream.New("app")
	top.Stream(left).Map(func(string) string { panic("no") }).To(out)
	f := newFixture(t, top, 1)
	tk := f.open(0, 0)
	tk.Add("left", []*kgo.Record{rec("left", 4, 10)}, 5)
	_, err := tk.Step(1)
	require.ErrorContains(t, err, `operator map-1: left, partition 0, offset 4, key "k": panic: no`)
	require.ErrorContains(t, err, "step_test.go", "the stack leads to the function")
}
