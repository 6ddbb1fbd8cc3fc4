package flights_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/examples/flights"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/stream"
)

// trialOf is the trial of which an answer speaks.
func trialOf(a flights.Answer) trial {
	tr := trial{job: flights.Default, data: dataOf(a), partitions: int32(a.Partitions), partitionKey: a.PartitionKey}
	tr.job.Bound = minutes(a.BoundMin)
	if a.Windows == "tumbling" {
		tr.job.Grace = minutes(a.GraceMin)
		return tr
	}
	tr.job.SessionOf, tr.job.Gap, tr.job.SessionGrace = columns[a.Key], minutes(a.GapMin), minutes(a.GraceMin)
	return tr
}

func dataOf(a flights.Answer) string {
	if a.Data == "flights-2013.csv.gz" {
		return "full"
	}
	return "month"
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

func (tr *trial) result(t *testing.T, a flights.Answer) flights.Tally {
	if a.Windows == "tumbling" {
		return tr.hours(t)
	}
	return tr.sessions(t)
}

// TestAnswers compares the job, with the parameters of every known answer, to
// that answer.
func TestAnswers(t *testing.T) {
	answers, err := flights.Answers()
	require.NoError(t, err)
	require.NotEmpty(t, answers)
	for i, a := range answers {
		if dataOf(a) == "full" {
			continue
		}
		t.Run(fmt.Sprintf("%02d-%s-%s-%d", i, a.Windows, a.Key, a.Partitions), func(t *testing.T) {
			tr := trialOf(a)
			tr.cfg.Workers = 1 + i%2
			tr.setUp(t, kafkatest.Fake(t).ListenAddrs())
			tr.load(t)
			tr.finish(t)
			require.Equal(t, a.Tally, tr.result(t, a))
		})
	}
}

// TestWholeYear runs the default job over the whole year.
func TestWholeYear(t *testing.T) {
	for _, c := range []struct{ partitions, workers int }{{1, 1}, {4, 2}} {
		t.Run(fmt.Sprintf("fake-%d-%d", c.partitions, c.workers), func(t *testing.T) {
			wholeYear(t, kafkatest.Fake(t).ListenAddrs(), c.partitions, c.workers)
		})
	}
}

// TestWholeYearOnKafka is TestWholeYear on a real broker.
func TestWholeYearOnKafka(t *testing.T) {
	for _, workers := range []int{1, 2} {
		t.Run(fmt.Sprintf("kafka-%d-%d", 4, workers), func(t *testing.T) {
			wholeYear(t, kafkatest.Shared(t).Addrs(), 4, workers)
		})
	}
}

func wholeYear(t *testing.T, addrs []string, partitions, workers int) {
	tr := trial{job: flights.Default, data: "full", partitions: int32(partitions), partitionKey: "flight"}
	tr.cfg = stream.Config{Workers: workers}
	tr.setUp(t, addrs)
	tr.load(t)
	tr.finish(t)
	requireAnswers(t, &tr)
	hours, _ := tr.job.HoursAnswer(tr.data, partitions)
	require.Equal(t, hours.Records, tr.sessions(t).Records, "every record is in a session, or late")
}
