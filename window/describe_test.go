package window_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/window"
)

func TestFixedString(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for want, f := range map[string]window.Fixed{
		"tumbling 1m0s":                               window.Tumbling(time.Minute),
		"tumbling 1m0s offset 3s grace 30s":           window.Tumbling(time.Minute).Grace(30 * time.Second).Offset(3 * time.Second),
		"tumbling 1m0s offset 57s":                    window.Tumbling(time.Minute).Offset(-3 * time.Second),
		"tumbling 2s":                                 window.Hopping(2*time.Second, 2*time.Second),
		"hopping 1m0s advance 10s":                    window.Hopping(time.Minute, 10*time.Second),
		"hopping 1m0s advance 10s offset 1s grace 1s": window.Hopping(time.Minute, 10*time.Second).Offset(11 * time.Second).Grace(time.Second),
		"calendar day Europe/Berlin":                  window.Calendar(window.Day, berlin),
		"calendar day Asia/Kolkata":                   window.Calendar(window.Day, zone(t, "Asia/Kolkata")),     // no change after 1970
		"calendar day Antarctica/Troll":               window.Calendar(window.Day, zone(t, "Antarctica/Troll")), // none before
		"calendar week UTC offset -24h0m0s":           window.Calendar(window.Week, time.UTC).Offset(-24 * time.Hour),
		"calendar month Europe/Berlin grace 1h0m0s":   window.Calendar(window.Month, berlin).Grace(time.Hour),
		"calendar quarter X (UTC+05:30:00)":           window.Calendar(window.Quarter, time.FixedZone("X", 19800)),
		"calendar year X (UTC-05:30:00)":              window.Calendar(window.Year, time.FixedZone("X", -19800)),
		"calendar unit(9) without zone":               window.Calendar(9, nil),
	} {
		require.Equal(t, want, f.String())
	}
}

func TestFixedValidate(t *testing.T) {
	const ns = time.Nanosecond
	tumbling := window.Tumbling(time.Minute)
	for _, c := range []struct {
		f    window.Fixed
		want []string // what each line of the error says; none for a good description
	}{
		{tumbling, nil},
		{tumbling.Offset(-time.Hour).Grace(time.Hour), nil},
		{window.Hopping(10*ms, 3*ms), nil},
		{window.Calendar(window.Year, time.UTC).Offset(-time.Hour), nil},
		{window.Fixed{}, []string{"size 0s"}},
		{window.Tumbling(0), []string{"size 0s"}},
		{window.Tumbling(-time.Second), []string{"size -1s"}},
		{window.Tumbling(ns), []string{"size 0s", "size is not", "advance is not"}},
		{window.Hopping(time.Second, 0), []string{"advance 0s"}},
		{window.Hopping(time.Second, -ms), []string{"advance -1ms"}},
		{window.Hopping(time.Second, 2*time.Second), []string{"advance 2s is greater than size 1s"}},
		{window.Hopping(time.Second+ns, time.Second), []string{"size is not a whole number of milliseconds"}},
		{window.Hopping(time.Second, ms+ns), []string{"advance is not a whole number of milliseconds"}},
		{tumbling.Offset(ns), []string{"offset is not"}},
		{tumbling.Grace(ms + ns), []string{"grace is not"}},
		{tumbling.Grace(ms + ns).Grace(ms), nil},
		{tumbling.Grace(-time.Second), []string{"grace -1s is negative"}},
		{window.Calendar(0, nil).Grace(-ms), []string{"unit(0)", "no zone", "grace -1ms"}},
		{window.Calendar(6, time.UTC), []string{"unit(6)"}},
		{window.Calendar(window.Day, time.Local), []string{"time.Local"}},
	} {
		requireFaults(t, c.f.Validate(), c.want, c.f.String())
		require.NotPanics(t, func() { c.f.Late(c.f.Next(c.f.First(-5)), 0); c.f.Last(1 << 62) })
	}
}

// requireFaults demands exactly the given faults, in order, or no error at all.
func requireFaults(t *testing.T, err error, want []string, about string) {
	t.Helper()
	if len(want) == 0 {
		require.NoError(t, err, about)
		return
	}
	require.Error(t, err, about)
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	faults := joined.Unwrap()
	require.Len(t, faults, len(want), "%v: %v", about, err)
	for i, fault := range faults {
		require.ErrorContains(t, fault, want[i])
	}
}

func TestInvalidDescriptionsHaveNoWindows(t *testing.T) {
	for _, f := range []window.Fixed{{}, window.Tumbling(0), window.Calendar(0, time.UTC), window.Calendar(window.Day, nil)} {
		require.Empty(t, spans(f, 0), f.String())
		require.Empty(t, spans(f, -1_000_000), f.String())
	}
}
