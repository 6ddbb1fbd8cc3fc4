package flights_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/examples/flights"
	"github.com/weirstream/weir/streamtest"
)

// TestLateFlight shows what the job makes of a flight that departs after its
// hour was closed.
func TestLateFlight(t *testing.T) {
	job := flights.Default
	d := streamtest.New(t, job.Topology())
	noon := time.Date(2013, 6, 1, 12, 0, 0, 0, time.UTC)
	depart := func(number, aircraft string, planned time.Time, delay time.Duration) flights.Flight {
		f := flights.Flight{Number: number, Origin: "JFK", Aircraft: aircraft, Scheduled: planned, Delay: int(delay / time.Minute)}
		d.Send(job.Flights(), f.Number, f, f.Departed())
		return f
	}
	depart("AA1", "N1", noon, 0)
	depart("AA2", "N2", noon.Add(30*time.Minute), -2*time.Minute)
	require.Empty(t, d.Values(job.Hours()), "the hour is open for two hours more")

	depart("AA3", "N3", noon.Add(3*time.Hour), 0)
	require.Equal(t, []flights.Hour{{Origin: "JFK", Start: noon, Flights: 2}}, d.Values(job.Hours()))

	late := depart("AA4", "N1", noon.Add(10*time.Minute), 3*time.Hour)
	require.Equal(t, []flights.Flight{late}, d.Values(job.LateForHour()))

	depart("AA5", "N9", noon.Add(13*time.Hour+11*time.Minute), 0)
	require.Equal(t, []flights.Session{
		{Aircraft: "N1", First: noon, Last: late.Scheduled, Flights: 2},
	}, d.Values(job.Sessions()), "a session waits for twelve hours and one of grace: the flight was late for the hour only")
	require.Empty(t, d.Values(job.LateForSession()))
}
