package task_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

const again = "app-again-repartition"

// held writes two repartition topics, one of them behind windows that hold back
// 30 ms.
func held() *stream.Topology {
	top := stream.New("app")
	s := top.Stream(left, stream.Watermarks(watermark.Bounded(0).Idle(time.Second)))
	s.Repartition("again").To(out)
	w := s.GroupByKey().Windowed(window.Tumbling(10 * time.Millisecond).Grace(30 * time.Millisecond)).Count("counts")
	w.Final().MapRecord(func(r stream.Record[string, int64]) string { return r.Key }).Repartition("results").To(out)
	return top
}

// controls takes the control records written to a topic since the last time, one
// to each partition, and returns what the last said.
func (f *fixture) controls(topic string) []watermark.Progress {
	f.t.Helper()
	var last []watermark.Progress
	next, rest := int32(0), f.sent[:0]
	for _, r := range f.sent {
		if r.Topic != topic || len(r.Headers) != 1 || r.Headers[0].Key != task.ControlHeader {
			rest = append(rest, r)
			continue
		}
		if r.Partition == 0 {
			next = 0
		}
		require.Equal(f.t, next, r.Partition)
		ps, err := watermark.ParseControl(r.Value)
		require.NoError(f.t, err)
		require.True(f.t, next == 0 || len(ps) == len(last))
		next, last = next+1, ps
	}
	require.True(f.t, next == 0 || next == f.partitions)
	f.sent = rest
	return last
}

func TestControlRecords(t *testing.T) {
	f := newFixture(t, held(), 2)
	c := task.NewControls(f.plan, func(string) int32 { return 2 }, task.ControlEvery)
	one, two := f.open(0, 1), f.open(0, 0)
	reader := f.open(1, 0)
	tasks := []*task.Task{one, reader}
	say := func(topic string) []watermark.Progress {
		t.Helper()
		due := c.Due(tasks, f.now)
		require.NoError(t, c.Write(tasks, f.now, f))
		ps := f.controls(topic)
		require.True(t, due || ps == nil, "Write wrote what was not due")
		return ps
	}

	none := watermark.None
	require.Equal(t, []watermark.Progress{{Task: 1, Tasks: 2, Watermark: none}}, say(again), "a task has started")
	offsets, err := one.Offsets()
	require.NoError(t, err)
	require.Len(t, offsets, 1, "a task that is named takes part in the commit")
	offsets, err = reader.Offsets()
	require.NoError(t, err)
	require.Empty(t, offsets)
	require.Nil(t, say(again), "nothing has changed")

	one.Add("left", []*kgo.Record{rec("left", 0, 100)}, 1)
	run(t, one)
	require.Nil(t, say(again), "not so soon")
	f.now += task.ControlEvery
	require.NoError(t, c.Write(tasks, f.now, f))
	require.Equal(t, []watermark.Progress{{Task: 1, Tasks: 2, Watermark: 100}}, f.controls(again))
	require.Equal(t, []watermark.Progress{{Task: 1, Tasks: 2, Watermark: 70}}, f.controls("app-results-repartition"),
		"the windows hold 30 ms back")

	tasks = []*task.Task{one, two, reader}
	require.Equal(t, []watermark.Progress{{Task: 0, Tasks: 2, Watermark: none}, {Task: 1, Tasks: 2, Watermark: 100}},
		say(again), "at once for a new task")
	f.controls("app-results-repartition")

	f.now += task.ControlAtLeast - 1
	require.Nil(t, say(again))
	f.now++
	require.Len(t, say(again), 2, "every now and then in any case")

	f.now += 1000
	two.Tick(f.now, false, func(topic string, _ int32) { two.Answer(topic, f.now, 0) })
	require.Equal(t, []watermark.Progress{{Task: 0, Tasks: 2, Watermark: none, Idle: true}, {Task: 1, Tasks: 2, Watermark: 100}}, say(again))
}
