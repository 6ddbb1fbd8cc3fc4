package flights_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/examples/flights"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/stream"
)

// TestOptionsDoNotChangeResults runs the job with options that are about speed
// and memory alone.
func TestOptionsDoNotChangeResults(t *testing.T) {
	for name, cfg := range map[string]stream.Config{
		"commit-10ms":   {CommitInterval: 10 * time.Millisecond},
		"commit-5s":     {CommitInterval: 5 * time.Second},
		"little-memory": {MemoryLimit: 16 << 20},
		"much-memory":   {MemoryLimit: 1 << 30},
		"tiny-fetches":  {FetchMaxBytes: 1 << 10},
		"large-fetches": {FetchMaxBytes: 5 << 20},
		"at-least-once": {Guarantee: stream.AtLeastOnce}, // nothing fails here
	} {
		t.Run(name, func(t *testing.T) {
			tr := trial{job: flights.Default, data: "month", partitions: 1, partitionKey: "flight", cfg: cfg}
			tr.setUp(t, kafkatest.Fake(t).ListenAddrs())
			tr.load(t)
			tr.finish(t)
			requireAnswers(t, &tr)
		})
	}
}

// requireAnswers compares what the default job has written with its answers.
func requireAnswers(t *testing.T, tr *trial) {
	t.Helper()
	hours, ok := tr.job.HoursAnswer(tr.data, int(tr.partitions))
	require.True(t, ok)
	require.Equal(t, hours, tr.hours(t))
	if sessions, ok := tr.job.SessionsAnswer(tr.data, int(tr.partitions)); ok {
		require.Equal(t, sessions, tr.sessions(t))
	}
}

// TestOnePartitionADayBehind delivers one partition a day behind the others: what
// is late is a matter of each partition's order, not of when records arrive.
func TestOnePartitionADayBehind(t *testing.T) {
	const slow = 2
	tr := trial{job: flights.Default, data: "month", partitions: 4, partitionKey: "flight"}
	tr.cfg.Workers = 2
	tr.setUp(t, kafkatest.Fake(t).ListenAddrs())
	days := map[int][]*kgo.Record{} // by the day on which they are delivered
	last := 0
	for _, r := range tr.records(t) {
		day := int(r.Timestamp.UnixMilli() / (24 * time.Hour).Milliseconds())
		if r.Partition == slow {
			day++
		}
		days[day] = append(days[day], r)
		last = max(last, day)
	}
	require.Greater(t, len(days), 30)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := make(chan error, 1)
	app := tr.build(t)
	go func() { stopped <- app.Run(ctx) }()
	admin := kadm.NewClient(kafkatest.NewClient(t, tr.cfg.Brokers))
	for day := last - len(days) + 1; day <= last; day++ {
		require.NotEmpty(t, days[day])
		var behind []*kgo.Record
		var others []*kgo.Record
		for _, r := range days[day] {
			if r.Partition == slow {
				behind = append(behind, r)
			} else {
				others = append(others, r)
			}
		}
		kafkatest.Produce(t, tr.cfg.Brokers, others...)
		kafkatest.Eventually(t, time.Minute, func() error { return tr.caughtUp(ctx, admin, slow) })
		kafkatest.Produce(t, tr.cfg.Brokers, behind...)
	}
	kafkatest.Eventually(t, time.Minute, func() error { return tr.caughtUp(ctx, admin, -1) })
	cancel()
	require.NoError(t, <-stopped)

	tr.finish(t)
	requireAnswers(t, &tr)
}
