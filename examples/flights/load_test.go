package flights_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/examples/flights"
	"github.com/weirstream/weir/internal/kafkatest"
)

func TestLoadGoesOnWhereItWasInterrupted(t *testing.T) {
	tr := trial{job: flights.Default, data: "month", partitions: 3, partitionKey: "flight"}
	tr.setUp(t, kafkatest.Fake(t).ListenAddrs())
	client := kafkatest.NewClient(t, tr.cfg.Brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	all := len(tr.records(t))

	n, err := tr.job.Load(t.Context(), client, tr.records(t)[:1000], "month")
	require.NoError(t, err)
	require.Equal(t, 1000, n)
	n, err = tr.job.Load(t.Context(), client, tr.records(t), "month")
	require.NoError(t, err)
	require.Equal(t, all-1000, n)
	n, err = tr.job.Load(t.Context(), client, tr.records(t), "month")
	require.NoError(t, err)
	require.Zero(t, n)

	_, err = tr.job.Load(t.Context(), client, tr.records(t), "full")
	require.ErrorContains(t, err, "not of \"full\"")

	want := map[int32][]string{}
	for _, r := range tr.records(t) {
		want[r.Partition] = append(want[r.Partition], string(r.Value))
	}
	for p, records := range kafkatest.ReadAll(t, tr.cfg.Brokers, tr.job.Flights().Name, kgo.ReadUncommitted()) {
		var got []string
		for _, r := range records {
			got = append(got, string(r.Value))
		}
		require.Equal(t, want[int32(p)], got)
	}
}

func TestReadRefusesWhatItCannotRead(t *testing.T) {
	const head = "time_hour,minute,dep_delay,origin,tailnum,carrier,flight,dest\n"
	for _, c := range []struct{ csv, says string }{
		{"", "no line of column names"},
		{"time_hour,minute\n", "no column dep_delay"},
		{head + "yesterday,1,2,EWR,N1,UA,1,IAH\n", "line 2"},
		{head + "2013-01-01T10:00:00Z,1,2,EWR\n", "wrong number of fields"},
	} {
		_, err := flights.Read(strings.NewReader(c.csv))
		require.ErrorContains(t, err, c.says)
	}
	list, err := flights.Read(strings.NewReader(head + "2013-01-01T10:00:00Z,40,NA,JFK,N1,AA,1,MIA\n" + "2013-01-01T10:00:00Z,40,-3,JFK,N2,AA,2,MIA\n"))
	require.NoError(t, err)
	require.Len(t, list, 1, "what never departed is no record")
	require.Equal(t, "2013-01-01T10:37:00Z", list[0].Departed().Format(time.RFC3339))
}

func TestOpenSaysWhatThereIs(t *testing.T) {
	_, err := flights.Open("nothing.csv")
	require.ErrorContains(t, err, "\"month\" and \"full\"")
}
