package stream_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// Event times of 2013 are older than any retention that a broker has by
// default. Brokers compare them to their clocks; internal topics must not let
// them delete what is still needed.
func TestOldEventTimesSurviveShortRetention(t *testing.T) {
	broker := kafkatest.Start(t, kafkatest.Set("log.retention.ms=1000"), kafkatest.Set("log.retention.check.interval.ms=300"),
		kafkatest.Set("log.segment.delete.delay.ms=100"))
	forever := map[string]string{"retention.ms": "-1"}
	kafkatest.CreateTopic(t, broker.Addrs(), "events", 2, forever)
	kafkatest.CreateTopic(t, broker.Addrs(), "hours", 1, forever)
	kafkatest.CreateTopic(t, broker.Addrs(), "totals", 1, forever)
	kafkatest.CreateTopic(t, broker.Addrs(), "short-lived", 1, nil)

	top := stream.New("old")
	byName := top.Stream(stream.NewTopic("events", serde.String, serde.String)).GroupBy("by-name", stream.Identity)
	byName.Windowed(window.Tumbling(time.Hour).Grace(time.Hour)).Count("hourly").Final().
		SelectKeyRecord(stream.WindowKey).To(stream.NewTopic("hours", serde.TimeWindowed(serde.String, time.Hour), serde.Int64))
	byName.Count("ever").Updates().To(stream.NewTopic("totals", serde.String, serde.Int64))
	run := func(dir string, work func(*stream.App)) {
		t.Helper()
		app, err := top.Build(stream.Config{Brokers: broker.Addrs(), StateDir: dir, Instance: "one", Workers: 1})
		require.NoError(t, err)
		work(app)
	}

	start := time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)
	record := func(i int, at time.Duration) *kgo.Record {
		return &kgo.Record{Topic: "events", Partition: int32(i % 2), Value: fmt.Appendf(nil, "name-%d", i%10), Timestamp: start.Add(at)}
	}
	var early, late []*kgo.Record
	for i := range 200 {
		early = append(early, record(i, time.Duration(i)*time.Second))
		late = append(late, record(i, time.Duration(200+i)*time.Second))
	}
	kafkatest.Produce(t, broker.Addrs(), early...)
	kafkatest.Produce(t, broker.Addrs(), &kgo.Record{Topic: "short-lived", Value: []byte("v"), Timestamp: start})

	run(t.TempDir(), func(app *stream.App) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- app.Run(ctx) }()
		kafkatest.Eventually(t, time.Minute, func() error { return lagOf(t, broker.Addrs(), "old-by-name-repartition", "old") })
		cancel()
		require.NoError(t, <-done)
	})
	// The fault has bitten when a topic with the broker's default has lost its record.
	kafkatest.Eventually(t, time.Minute, func() error {
		starts, err := kadm.NewClient(kafkatest.NewClient(t, broker.Addrs())).ListStartOffsets(context.Background(), "short-lived")
		if o, _ := starts.Lookup("short-lived", 0); err != nil || o.Offset == 0 {
			return errors.Join(err, errors.New("the broker has not deleted anything yet"))
		}
		return nil
	})
	kafkatest.Produce(t, broker.Addrs(), late...)
	run(filepath.Join(t.TempDir(), "another"), func(app *stream.App) { // all state comes from the changelogs
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, app.RunUntilEnd(ctx))
	})

	finals, totals := map[string]int64{}, map[string]int64{}
	for topic, into := range map[string]map[string]int64{"hours": finals, "totals": totals} {
		for _, r := range kafkatest.ReadAll(t, broker.Addrs(), topic, kgo.ReadCommitted())[0] {
			n, err := serde.Int64.Decode(r.Value)
			require.NoError(t, err)
			into[string(r.Key[:6])] = n
		}
	}
	require.Len(t, finals, 10)
	for i := range 10 {
		name := fmt.Sprintf("name-%d", i)
		require.EqualValues(t, 40, finals[name], "the final of %s counts what came before the restore", name)
		require.EqualValues(t, 40, totals[name], "the total of %s", name)
	}
}

// lagOf returns an error while the group has not committed the topic's end.
func lagOf(t *testing.T, addrs []string, topic, group string) error {
	t.Helper()
	admin := kadm.NewClient(kafkatest.NewClient(t, addrs))
	ends, err := admin.ListCommittedOffsets(context.Background(), topic)
	if err != nil {
		return err
	}
	committed := kafkatest.CommittedOffsets(t, addrs, group)
	behind := error(nil)
	records := int64(0)
	ends.Each(func(o kadm.ListedOffset) {
		records += o.Offset
		if c, ok := committed.Lookup(o.Topic, o.Partition); !ok || c.At < o.Offset {
			behind = fmt.Errorf("%s, partition %d: %d of %d committed", o.Topic, o.Partition, c.At, o.Offset)
		}
	})
	if records == 0 {
		return errors.New("nothing has been written yet")
	}
	return behind
}
