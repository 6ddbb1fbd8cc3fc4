package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/examples/flights"
	"github.com/weirstream/weir/stream"
)

// flightsJob shows the results of the flights example: one line a day, and the
// greatest of all at the end.
type flightsJob struct {
	job        flights.Job
	data       string
	list       []flights.Flight
	partitions int
	days       *days

	hours, sessions flights.Counter
	busiest         top[flights.Hour]
	longest         top[flights.Session]
}

func newFlightsJob(o *options, out io.Writer) (*flightsJob, error) {
	j := &flightsJob{job: flights.Default, data: cmp.Or(o.data, "month")}
	var err error
	if j.list, err = flights.Open(j.data); err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	var origins []string
	for _, f := range j.list {
		if !slices.Contains(origins, f.Origin) {
			origins = append(origins, f.Origin)
		}
	}
	slices.Sort(origins)
	j.days = newDays(out, origins)
	j.busiest.compare = func(a, b flights.Hour) int {
		return cmp.Or(cmp.Compare(a.Flights, b.Flights), b.Start.Compare(a.Start), cmp.Compare(b.Origin, a.Origin))
	}
	j.longest.compare = func(a, b flights.Session) int {
		return cmp.Or(cmp.Compare(a.Flights, b.Flights), b.First.Compare(a.First), cmp.Compare(b.Aircraft, a.Aircraft))
	}
	return j, nil
}

func (j *flightsJob) name() string { return j.job.Name }

func (j *flightsJob) describe() string {
	return "flights: departures from New York per airport and hour, and sessions of aircraft"
}

func (j *flightsJob) topology() *stream.Topology { return j.job.Topology() }
func (j *flightsJob) topics() []string           { return j.job.Topics() }

func (j *flightsJob) records(partitions int32) ([]*kgo.Record, string, error) {
	j.partitions = int(partitions)
	records, err := j.job.Records(j.list, partitions, flights.Flight.ByNumber)
	return records, j.data, err
}

func (j *flightsJob) show(r *kgo.Record) error {
	switch r.Topic {
	case j.job.Hours().Name:
		h, err := j.job.Hours().Value.Decode(r.Value)
		if err != nil {
			return err
		}
		j.hours.Hour(h)
		j.busiest.add(h)
		j.days.add(h)
	case j.job.Sessions().Name:
		s, err := j.job.Sessions().Value.Decode(r.Value)
		if err != nil {
			return err
		}
		j.sessions.Session(s)
		j.longest.add(s)
	case j.job.LateForHour().Name:
		j.hours.Late()
	case j.job.LateForSession().Name:
		j.sessions.Late()
	}
	return nil
}

func (j *flightsJob) conclude(w io.Writer, ended bool) error {
	j.days.flush()
	fmt.Fprintln(w, "\nBusiest hours (UTC)")
	for _, h := range j.busiest.list {
		fmt.Fprintf(w, "  %s  %s  %4d flights\n", h.Origin, h.Start.Format("2006-01-02 15:04"), h.Flights)
	}
	fmt.Fprintf(w, "\nAircraft with most departures, never more than %v hours apart\n", j.job.Gap.Hours())
	for _, s := range j.longest.list {
		const form = "2006-01-02 15:04"
		fmt.Fprintf(w, "  %-6s  %s to %s  %4d flights\n", s.Aircraft, s.First.Format(form), s.Last.Format(form), s.Flights)
	}
	fmt.Fprintf(w, "\n%10s %9s %9s %9s %9s  %s\n", "", "records", "finals", "late", "counted", "sha256 of the finals")
	hours, sessions := j.hours.Tally(), j.sessions.Tally()
	if !ended {
		line(w, "hours", hours, "so far")
		line(w, "sessions", sessions, "so far")
		return nil
	}
	want, known := j.job.HoursAnswer(j.data, j.partitions)
	err := compare(w, "hours", hours, want, known)
	want, known = j.job.SessionsAnswer(j.data, j.partitions)
	if serr := compare(w, "sessions", sessions, want, known); err == nil {
		err = serr
	}
	switch n := int64(len(j.list)); {
	case err != nil:
		return err
	case hours.Records != n || sessions.Records != n:
		return fmt.Errorf("there are %d records, but hours account for %d and sessions for %d", n, hours.Records, sessions.Records)
	}
	if !known && j.partitions > 1 {
		fmt.Fprintln(w, "\nAn aircraft's flights are on several partitions: which of them are late for a session depends on how the")
		fmt.Fprintln(w, "partitions arrive between each other, so no reference exists. With --partitions 1 there is one.")
	}
	return nil
}

// compare prints a tally beside what is expected, if that is known.
func compare(w io.Writer, name string, got, want flights.Tally, known bool) error {
	switch {
	case !known:
		line(w, name, got, "no reference")
	case got == want:
		line(w, name, got, "as expected")
	default:
		line(w, name, got, "WRONG")
		line(w, "expected", want, "")
		return fmt.Errorf("the results of %s are not what examples/flights/testdata/answers.json says", name)
	}
	return nil
}

func line(w io.Writer, name string, t flights.Tally, verdict string) {
	fmt.Fprintf(w, "%10s %9d %9d %9d %9d  %s  %s\n", name, t.Records, t.Finals, t.Late, t.Counted, t.SHA256[:16], verdict)
}

// A top keeps the five greatest.
type top[T any] struct {
	list    []T
	compare func(a, b T) int
}

func (t *top[T]) add(v T) {
	const most = 5
	if len(t.list) == most && t.compare(v, t.list[most-1]) <= 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(t.list, v, func(a, b T) int { return t.compare(b, a) })
	t.list = slices.Insert(t.list, i, v)
	t.list = t.list[:min(len(t.list), most)]
}

// days adds hours up to days, and prints a day when all airports have gone past
// it.
type days struct {
	out     io.Writer
	origins []string
	at      map[string]time.Time           // by origin: the last day of which hours have come
	counts  map[time.Time]map[string]int64 // by day and origin
	headed  bool
}

func newDays(out io.Writer, origins []string) *days {
	return &days{out: out, origins: origins, at: map[string]time.Time{}, counts: map[time.Time]map[string]int64{}}
}

func (d *days) add(h flights.Hour) {
	day := h.Start.Truncate(24 * time.Hour)
	if d.counts[day] == nil {
		d.counts[day] = map[string]int64{}
	}
	d.counts[day][h.Origin] += h.Flights
	if !day.After(d.at[h.Origin]) {
		return
	}
	d.at[h.Origin] = day
	past := day
	for _, origin := range d.origins {
		if t := d.at[origin]; t.Before(past) {
			past = t
		}
	}
	d.print(past)
}

// flush prints the days that are left.
func (d *days) flush() { d.print(time.Unix(1<<40, 0)) }

// print prints the days before past.
func (d *days) print(past time.Time) {
	var list []time.Time
	for day := range d.counts {
		if day.Before(past) {
			list = append(list, day)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	for _, day := range list {
		d.head()
		total := int64(0)
		fmt.Fprint(d.out, day.Format("2006-01-02"))
		for _, origin := range d.origins {
			fmt.Fprintf(d.out, " %7d", d.counts[day][origin])
			total += d.counts[day][origin]
		}
		fmt.Fprintf(d.out, " %7d\n", total)
		delete(d.counts, day)
	}
}

func (d *days) head() {
	if d.headed {
		return
	}
	d.headed = true
	fmt.Fprintf(d.out, "%-10s", "day (UTC)")
	for _, origin := range append(slices.Clone(d.origins), "all") {
		fmt.Fprintf(d.out, " %7s", origin)
	}
	fmt.Fprintln(d.out)
}
