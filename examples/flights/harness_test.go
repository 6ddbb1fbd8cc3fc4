package flights_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/examples/flights"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/stream"
)

// A trial is one run of the job on a broker.
type trial struct {
	job          flights.Job
	data         string // month or full
	partitions   int32
	partitionKey string // column
	cfg          stream.Config
}

// columns are the keys of answers.
var columns = map[string]func(flights.Flight) string{
	"flight": flights.Flight.ByNumber, "origin": flights.Flight.ByOrigin, "tailnum": flights.Flight.ByAircraft,
}

// setUp gives the trial topics of its own.
func (tr *trial) setUp(t *testing.T, addrs []string) {
	t.Helper()
	tr.job.Prefix = path.Base(t.Name()) + "-" + fmt.Sprint(time.Now().UnixNano()) + "-"
	tr.job.Name = tr.job.Prefix + "app"
	tr.cfg.Brokers, tr.cfg.StateDir = addrs, t.TempDir()
	for _, topic := range tr.job.Topics() {
		kafkatest.CreateTopic(t, addrs, topic, tr.partitions, map[string]string{"retention.ms": "-1"}) // or 2013 is deleted
	}
}

// records are the trial's data.
func (tr *trial) records(t *testing.T) []*kgo.Record {
	t.Helper()
	list, err := flights.Open(tr.data)
	require.NoError(t, err)
	records, err := tr.job.Records(list, tr.partitions, columns[tr.partitionKey])
	require.NoError(t, err)
	return records
}

func (tr *trial) load(t *testing.T) {
	t.Helper()
	kafkatest.Produce(t, tr.cfg.Brokers, tr.records(t)...)
}

func (tr *trial) build(t *testing.T) *stream.App {
	t.Helper()
	app, err := tr.job.Topology().Build(tr.cfg)
	require.NoError(t, err)
	return app
}

// finish processes what there is, and closes all windows.
func (tr *trial) finish(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	require.NoError(t, tr.build(t).RunUntilEnd(ctx))
}

// hours and sessions are what the job has written, as readers of committed
// records see it.
func (tr *trial) hours(t *testing.T) flights.Tally {
	var c flights.Counter
	read(t, tr.cfg.Brokers, tr.job.Hours(), c.Hour)
	read(t, tr.cfg.Brokers, tr.job.LateForHour(), func(flights.Flight) { c.Late() })
	return c.Tally()
}

func (tr *trial) sessions(t *testing.T) flights.Tally {
	var c flights.Counter
	read(t, tr.cfg.Brokers, tr.job.Sessions(), c.Session)
	read(t, tr.cfg.Brokers, tr.job.LateForSession(), func(flights.Flight) { c.Late() })
	return c.Tally()
}

func read[V any](t *testing.T, addrs []string, topic stream.Topic[string, V], each func(V)) {
	t.Helper()
	for _, partition := range kafkatest.ReadAll(t, addrs, topic.Name, kgo.ReadCommitted()) {
		for _, r := range partition {
			v, err := topic.Value.Decode(r.Value)
			require.NoError(t, err)
			each(v)
		}
	}
}

// caughtUp returns an error as long as the job has not committed all records of
// some partitions.
func (tr *trial) caughtUp(ctx context.Context, admin *kadm.Client, except int32) error {
	source := tr.job.Flights().Name
	ends, err := admin.ListEndOffsets(ctx, source)
	if err := errors.Join(err, ends.Error()); err != nil {
		return err
	}
	done, err := admin.FetchOffsets(ctx, tr.job.Name)
	if err := errors.Join(err, done.Error()); err != nil {
		return err
	}
	for p := range tr.partitions {
		end, _ := ends.Lookup(source, p)
		at, _ := done.Lookup(source, p)
		if p != except && at.At < end.Offset {
			return fmt.Errorf("partition %d is processed up to %d of %d", p, at.At, end.Offset)
		}
	}
	return nil
}
