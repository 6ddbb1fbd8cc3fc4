// Package flights is an example job: what left New York's airports in 2013,
// hour by hour, and how each aircraft was kept busy.
//
// The records are real ones (see data/README.md). A flight becomes known when
// it departs, while its event time is the departure that was planned: so
// records are out of order by minutes, often by hours, and some are late.
package flights

import "time"

// A Flight is one departure.
type Flight struct {
	Number    string    `json:"number"` // carrier and flight number, as UA1545
	Origin    string    `json:"origin"` // airport
	Dest      string    `json:"dest"`   // airport
	Aircraft  string    `json:"aircraft"`
	Scheduled time.Time `json:"scheduled"` // the departure as planned: the event time
	Delay     int       `json:"delay"`     // of the departure in minutes, negative if it was early
}

// ByNumber is the flight's number.
func (f Flight) ByNumber() string { return f.Number }

// ByOrigin is the airport that the flight left.
func (f Flight) ByOrigin() string { return f.Origin }

// ByAircraft is the tail number of the flight's aircraft.
func (f Flight) ByAircraft() string { return f.Aircraft }

// Planned is when the flight should have departed.
func (f Flight) Planned() time.Time { return f.Scheduled }

// Departed is when the flight did depart.
func (f Flight) Departed() time.Time { return f.Scheduled.Add(time.Duration(f.Delay) * time.Minute) }

// An Hour is how many flights were to leave an airport in one hour.
type Hour struct {
	Origin  string    `json:"origin"`
	Start   time.Time `json:"start"`
	Flights int64     `json:"flights"`
}

// A Session is a time in which there was never a long wait between two
// departures of one aircraft.
type Session struct {
	Aircraft string    `json:"aircraft"`
	First    time.Time `json:"first"` // departure
	Last     time.Time `json:"last"`  // departure
	Flights  int64     `json:"flights"`
}
