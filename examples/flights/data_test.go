package flights_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/examples/flights"
)

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
	list, err := flights.Read(strings.NewReader(head +
		"2013-01-01T10:00:00Z,40,NA,JFK,N1,AA,1,MIA\n" +
		"2013-01-01T10:00:00Z,40,-3,JFK,N2,AA,2,MIA\n"))
	require.NoError(t, err)
	require.Len(t, list, 1, "what never departed is no record")
	require.Equal(t, "2013-01-01T10:37:00Z", list[0].Departed().Format(time.RFC3339))
}

func TestOpenSaysWhatThereIs(t *testing.T) {
	_, err := flights.Open("nothing.csv")
	require.ErrorContains(t, err, "\"month\" and \"full\"")
}
