package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/verify/oracle"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// large has windows of more keys than are closed in one step.
func large() *stream.Topology {
	top := stream.New("large")
	top.Stream(stream.NewTopic("wide", serde.String, serde.String)).GroupByKey().
		Windowed(window.Tumbling(10 * time.Second)).Count("counts").Final().
		Map(func(n int64) string { return fmt.Sprint(n) }).
		SelectKeyRecord(func(r stream.Record[string, string]) string {
			return oracle.Key(r.Key, r.Window.StartMs(), r.Window.EndMs())
		}).
		To(asText("wide-counts"))
	return top
}

// A process dies between two steps of a closing that is too large for one, and
// again in the next life.
func TestCrashBetweenClosing(t *testing.T) {
	t.Parallel()
	const width = task.CloseStep + 500
	for _, unsynced := range []int{0, 50, 100} {
		t.Run(fmt.Sprint(unsynced), func(t *testing.T) {
			t.Parallel()
			seed := seedOf(t)
			addrs := kafkatest.Fake(t).ListenAddrs()
			kafkatest.CreateTopic(t, addrs, "wide", 1, nil)
			kafkatest.CreateTopic(t, addrs, "wide-counts", partsOut, nil)
			want := oracle.History{}
			var records []*kgo.Record
			for i := range 2 * width {
				key, at := fmt.Sprintf("k%d", i%width), int64(i/width)*10_000
				records = append(records, &kgo.Record{Topic: "wide", Key: []byte(key), Value: []byte("v"), Timestamp: time.UnixMilli(at)})
				want[oracle.Key(key, at, at+10_000)] = []string{"1"}
			}
			kafkatest.Produce(t, addrs, records...)
			fs := vfs.NewCrashableMem()
			for nth := 1; nth <= 3; nth++ { // that many commits between steps are made before it dies, less one
				i := &instance{cfg: stream.Config{Brokers: addrs, Instance: "one", CommitInterval: time.Millisecond}, fs: fs, top: large}
				left := crashing(t, i, crash{checkpoint.BetweenClosing, nth, unsynced}, seed)
				if left == nil && nth == 3 {
					break // the closing was over before
				}
				require.NotNil(t, left, "the crash point was not reached")
				fs = left
			}
			i := &instance{cfg: stream.Config{Brokers: addrs, Instance: "one"}, fs: fs, top: large}
			require.NoError(t, start(t, i, (*stream.App).RunUntilEnd).wait())
			r, ctx := reader(t, addrs)
			got, _ := history(ctx, t, r, "wide-counts")
			require.NoError(t, want.Same(got))
		})
	}
}
