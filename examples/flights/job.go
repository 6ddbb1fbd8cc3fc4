package flights

import (
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

// A Job is the topology's parameters. Change a copy of Default.
type Job struct {
	Name         string              // of the app; the topics' names are "flights" and those of results, after Prefix
	Prefix       string              // of all topics
	Bound        time.Duration       // by which records of one partition may be out of order without being late
	Grace        time.Duration       // that hours stay open for late flights
	SessionOf    func(Flight) string // whose sessions there are
	Gap          time.Duration       // between departures that ends a session
	SessionGrace time.Duration       // that sessions stay open for late flights
}

// Default counts hours with two hours of grace, and sessions of aircraft that
// end when an aircraft has not left New York for twelve hours.
var Default = Job{
	Name: "flights", Grace: 2 * time.Hour, SessionOf: Flight.ByAircraft, Gap: 12 * time.Hour, SessionGrace: time.Hour,
}

// Flights is the topic that the job reads, in the order of departures. Its keys
// are the flights' numbers.
func (j Job) Flights() stream.Topic[string, Flight] {
	return stream.NewTopic(j.Prefix+"flights", serde.String, serde.JSON[Flight]()).Timestamps(Flight.Planned)
}

// Hours is the topic of what left each airport in each hour.
func (j Job) Hours() stream.Topic[string, Hour] {
	return stream.NewTopic(j.Prefix+"departures-per-hour", serde.String, serde.JSON[Hour]())
}

// LateForHour is the topic of flights that left after their hour was closed.
func (j Job) LateForHour() stream.Topic[string, Flight] {
	return stream.NewTopic(j.Prefix+"late-for-hour", serde.String, serde.JSON[Flight]())
}

// Sessions is the topic of aircraft's sessions.
func (j Job) Sessions() stream.Topic[string, Session] {
	return stream.NewTopic(j.Prefix+"aircraft-sessions", serde.String, serde.JSON[Session]())
}

// LateForSession is the topic of flights that left after their aircraft's
// session was closed.
func (j Job) LateForSession() stream.Topic[string, Flight] {
	return stream.NewTopic(j.Prefix+"late-for-session", serde.String, serde.JSON[Flight]())
}

// Topics are the names of all topics that the job's user must create.
func (j Job) Topics() []string {
	return []string{j.Flights().Name, j.Hours().Name, j.LateForHour().Name, j.Sessions().Name, j.LateForSession().Name}
}

// Topology describes the job.
func (j Job) Topology() *stream.Topology {
	top := stream.New(j.Name)
	departures := top.Stream(j.Flights(), stream.Watermarks(watermark.Bounded(j.Bound)))

	hourly := departures.
		GroupBy("by-origin", Flight.ByOrigin).
		Windowed(window.Tumbling(time.Hour).Grace(j.Grace))
	hourly.Count("departures").Final().MapRecord(toHour).To(j.Hours())
	hourly.Late().To(j.LateForHour())

	flying := departures.
		GroupBy("by-aircraft", j.SessionOf).
		Sessions(window.Gap(j.Gap).Grace(j.SessionGrace))
	flying.Count("sessions").Final().MapRecord(toSession).To(j.Sessions())
	flying.Late().To(j.LateForSession())

	return top
}

func toHour(r stream.Record[string, int64]) Hour {
	return Hour{Origin: r.Key, Start: r.Window.Start(), Flights: r.Value}
}

func toSession(r stream.Record[string, int64]) Session {
	return Session{Aircraft: r.Key, First: r.Window.Start(), Last: r.Time, Flights: r.Value}
}
