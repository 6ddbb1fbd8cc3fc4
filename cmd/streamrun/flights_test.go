package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/examples/flights"
)

func TestDaysArePrintedWhenAllAirportsArePast(t *testing.T) {
	var out bytes.Buffer
	d := newDays(&out, []string{"EWR", "JFK"})
	day := time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)
	hour := func(origin string, at time.Duration, n int64) {
		d.add(flights.Hour{Origin: origin, Start: day.Add(at), Flights: n})
	}
	hour("EWR", 5*time.Hour, 1)
	hour("EWR", 29*time.Hour, 2)
	require.Empty(t, out.String(), "JFK is not past the first day")
	hour("JFK", 23*time.Hour, 4)
	hour("JFK", 53*time.Hour, 8)
	require.Equal(t, "day (UTC)      EWR     JFK     all\n2013-01-01       1       4       5\n", out.String(), "EWR is not past the second")
	out.Reset()
	d.flush()
	require.Equal(t, "2013-01-02       2       0       2\n2013-01-03       0       8       8\n", out.String())
}

func TestWrongResultsAreAnError(t *testing.T) {
	j, err := newFlightsJob(&options{data: "month"}, &bytes.Buffer{})
	require.NoError(t, err)
	j.partitions = 1
	var out bytes.Buffer
	require.NoError(t, j.conclude(&out, false), "results that are not complete are not compared")
	require.ErrorContains(t, j.conclude(&out, true), "the results of hours are not what")
	require.Contains(t, out.String(), "WRONG")
}

func TestTopKeepsTheGreatest(t *testing.T) {
	list := top[int]{compare: func(a, b int) int { return a - b }}
	for _, n := range []int{3, 9, 1, 7, 8, 2, 9, 0} {
		list.add(n)
	}
	require.Equal(t, []int{9, 9, 8, 7, 3}, list.list)
}
