package window_test

import (
	"math"
	"testing"
	"time"
	_ "time/tzdata" // the tests must not depend on the machine's zones

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirstream/weir/window"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

// span returns a span given by two times in RFC 3339.
func span(t testing.TB, start, end string) window.Span {
	t.Helper()
	return window.NewSpan(instant(t, start), instant(t, end))
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return at
}

// C06: days follow the wall clock over its changes, and their real length is used everywhere.
func TestC06DaysOverClockChanges(t *testing.T) {
	berlin := window.Calendar(window.Day, zone(t, "Europe/Berlin"))
	short := span(t, "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z")
	long := span(t, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z")
	require.Equal(t, 23*time.Hour, short.End().Sub(short.Start()))
	require.Equal(t, 25*time.Hour, long.End().Sub(long.Start()))
	for text, want := range map[string]window.Span{
		"2026-03-28T23:00:00Z":     short,
		"2026-03-29T21:59:59.999Z": short,
		"2026-03-29T22:00:00Z":     span(t, "2026-03-29T22:00:00Z", "2026-03-30T22:00:00Z"),
		"2026-10-25T22:30:00Z":     long,
		"2026-10-25T23:00:00Z":     span(t, "2026-10-25T23:00:00Z", "2026-10-26T23:00:00Z"),
	} {
		require.Equal(t, []window.Span{want}, spans(berlin, instant(t, text).UnixMilli()), text)
	}
	require.Equal(t, short.EndMs()+3_600_000, berlin.Grace(time.Hour).ClosesAt(short.StartMs()))
	require.Equal(t, long.EndMs(), berlin.ClosesAt(long.StartMs()))

	kolkata := window.Calendar(window.Day, zone(t, "Asia/Kolkata"))
	require.Equal(t, []window.Span{span(t, "2026-03-28T18:30:00Z", "2026-03-29T18:30:00Z")},
		spans(kolkata, instant(t, "2026-03-29T18:29:59.999Z").UnixMilli()))
}

func TestCalendarUnits(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct {
		f              window.Fixed
		at, start, end string
	}{
		{window.Calendar(window.Week, berlin), "2026-03-29T12:00:00+02:00", "2026-03-23T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{window.Calendar(window.Week, time.UTC), "1969-12-28T23:59:59Z", "1969-12-22T00:00:00Z", "1969-12-29T00:00:00Z"},
		{window.Calendar(window.Week, time.UTC), "1970-01-01T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z"},
		{window.Calendar(window.Week, time.UTC).Offset(-24 * time.Hour), "2026-03-29T00:00:00Z", "2026-03-29T00:00:00Z", "2026-04-05T00:00:00Z"},
		{window.Calendar(window.Month, berlin), "2026-03-31T23:59:59+02:00", "2026-03-01T00:00:00+01:00", "2026-04-01T00:00:00+02:00"},
		{window.Calendar(window.Month, time.UTC), "2024-02-29T00:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		{window.Calendar(window.Month, time.UTC), "1969-12-31T23:59:59Z", "1969-12-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{window.Calendar(window.Quarter, berlin), "2026-06-30T23:59:59+02:00", "2026-04-01T00:00:00+02:00", "2026-07-01T00:00:00+02:00"},
		{window.Calendar(window.Quarter, berlin), "2026-12-31T00:00:00+01:00", "2026-10-01T00:00:00+02:00", "2027-01-01T00:00:00+01:00"},
		{window.Calendar(window.Year, berlin), "2026-12-31T23:30:00Z", "2027-01-01T00:00:00+01:00", "2028-01-01T00:00:00+01:00"},
		{window.Calendar(window.Day, berlin).Offset(6 * time.Hour),
			"2026-03-29T05:59:59+02:00", "2026-03-28T06:00:00+01:00", "2026-03-29T06:00:00+02:00"},
		{window.Calendar(window.Day, time.FixedZone("far", 90*3600)), "2026-01-01T00:00:00Z", "2025-12-31T06:00:00Z", "2026-01-01T06:00:00Z"},
	} {
		require.Equal(t, []window.Span{span(t, c.start, c.end)}, spans(c.f, instant(t, c.at).UnixMilli()), "%v at %s", c.f, c.at)
	}
}

// Midnights that do not exist, come twice, or are inside a change of the clock; and a day that was left out.
func TestOddMidnights(t *testing.T) {
	for _, c := range []struct{ zone, at, start, end string }{
		// 2018-11-04: the clock jumped from 00:00 to 01:00.
		{"America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04T02:59:59Z", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		// 2019-02-17: from 00:00 back to 23:00 of the day before.
		{"America/Sao_Paulo", "2019-02-17T02:30:00Z", "2019-02-16T02:00:00Z", "2019-02-17T03:00:00Z"},
		// 2022-11-06: from 01:00 back to 00:00, so midnight came twice.
		{"America/Havana", "2022-11-06T04:30:00Z", "2022-11-06T04:00:00Z", "2022-11-07T05:00:00Z"},
		// 2006-10-29: at 00:01 back to 23:01 of the day before; the new day had begun.
		{"America/St_Johns", "2006-10-29T02:45:00Z", "2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z"},
		// 2011-12-30 did not happen.
		{"Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
	} {
		f := window.Calendar(window.Day, zone(t, c.zone))
		require.Equal(t, []window.Span{span(t, c.start, c.end)}, spans(f, instant(t, c.at).UnixMilli()), "%+v", c)
	}
}

// oddZones change their clocks at midnight, by half an hour, by a day, twice a year, or not at all.
var oddZones = []string{
	"Europe/Berlin", "America/St_Johns", "America/Havana", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia",
	"Pacific/Kwajalein", "Asia/Beirut", "Asia/Kathmandu", "Antarctica/Troll", "Asia/Gaza", "UTC",
}

// earliest returns the first minute at which the zone's clock shows the given reading, or more, found by looking at
// every minute.
func earliest(loc *time.Location, reading time.Time) int64 {
	for at := reading.Add(-30 * time.Hour); ; at = at.Add(time.Minute) {
		local := at.In(loc)
		_, seconds := local.Zone()
		if !at.Add(time.Duration(seconds) * time.Second).Before(reading) {
			return at.UnixMilli()
		}
	}
}

// Around every change of the clock since 1980, days start at the first minute whose local time is midnight or later.
func TestDaysAroundClockChangesMatchClock(t *testing.T) {
	for _, name := range oddZones {
		loc := zone(t, name)
		f := window.Calendar(window.Day, loc)
		_, change := time.Date(1980, 1, 1, 0, 0, 0, 0, loc).ZoneBounds()
		for ; !change.IsZero() && change.Year() < 2028; _, change = change.ZoneBounds() {
			y, m, d := change.UTC().Date()
			starts := map[int64]bool{}
			for day := d - 3; day <= d+3; day++ {
				starts[earliest(loc, time.Date(y, m, day, 0, 0, 0, 0, time.UTC))] = true
			}
			from, to := earliest(loc, time.Date(y, m, d-3, 0, 0, 0, 0, time.UTC)), earliest(loc, time.Date(y, m, d+3, 0, 0, 0, 0, time.UTC))
			got := map[int64]bool{from: true}
			for at := from; at < to; at = f.Next(at) {
				got[f.Next(at)] = true
				for hour := at; hour < f.Next(at); hour += 3_600_000 {
					require.Equal(t, at, f.First(hour), "%s around %v", name, change)
				}
			}
			require.Equal(t, starts, got, "%s around %v", name, change)
		}
	}
}

// The last day of a leap year that is beyond a zone's table of changes. The standard library does not say when the
// clock changes next on that day, and an earlier version of ours looked for it for ever.
func TestLastDayOfLeapYearsToCome(t *testing.T) {
	for _, name := range oddZones {
		loc := zone(t, name)
		f := window.Calendar(window.Day, loc)
		for _, year := range []int{2040, 2096, 3000, 12000} {
			for day := 28; day < 35; day++ {
				start, end := time.Date(year, 12, day, 0, 0, 0, 0, loc), time.Date(year, 12, day+1, 0, 0, 0, 0, loc)
				want := []window.Span{window.NewSpan(start, end)}
				require.Equal(t, want, spans(f, start.UnixMilli()), "%s", name)
				require.Equal(t, want, spans(f, end.UnixMilli()-1), "%s", name)
			}
		}
	}
}

// Calendar windows follow each other without gap or overlap, and every function agrees on where they are.
func TestCalendarWindowsPartitionTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(oddZones).Draw(t, "zone"))
		require.NoError(t, err)
		unit := window.Unit(rapid.IntRange(int(window.Day), int(window.Year)).Draw(t, "unit"))
		offset := rapid.IntRange(-50, 50).Draw(t, "hours")
		f := window.Calendar(unit, loc).Offset(time.Duration(offset) * time.Hour)
		ts := rapid.OneOf(rapid.Int64Range(0, 2e12), rapid.Int64Range(-8e15, 8e15)).Draw(t, "ts")

		start, end := f.First(ts), f.Next(f.First(ts))
		require.LessOrEqual(t, start, ts)
		require.Less(t, ts, end)
		require.Equal(t, end, f.EndOf(start))
		require.Equal(t, start, f.Last(ts))
		for at, want := range map[int64]int64{start: start, end - 1: start, end: end} {
			require.Equal(t, want, f.First(at))
		}
		require.Less(t, f.First(start-1), start)
		require.Equal(t, start, f.EndOf(f.First(start-1)))
	})
}

func TestCalendarEndsSomewhere(t *testing.T) {
	f := window.Calendar(window.Year, zone(t, "Europe/Berlin")).Grace(time.Hour)
	for _, ts := range []int64{math.MinInt64, math.MinInt64 + 1, -1 << 60, 1 << 60, math.MaxInt64 - 1} {
		require.Empty(t, spans(f, ts), "%d", ts)
		require.Greater(t, f.Last(ts), ts)
	}
	require.Equal(t, int64(math.MaxInt64), f.ClosesAt(1<<60))
}

// A calendar has windows for a hundred million days after the epoch, the last one included.
func TestCalendarEnds(t *testing.T) {
	const dayMs = 24 * 60 * 60 * 1000
	const last = 100_000_000 * dayMs
	days := window.Calendar(window.Day, time.UTC)
	require.Equal(t, []window.Span{window.Millis(last-dayMs, last)}, spans(days, last-1))
	require.Equal(t, []window.Span{window.Millis(last, last+dayMs)}, spans(days, last))
	require.Empty(t, spans(days, last+1))
}
