package flights

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Answer is what a windowed count of flights comes to, as testdata/answers.json
// has it from an independent program.
type Answer struct {
	Data         string `json:"data"`    // file
	Windows      string `json:"windows"` // tumbling or session
	SizeMin      int    `json:"size_min"`
	GapMin       int    `json:"gap_min"`
	GraceMin     int    `json:"grace_min"`
	BoundMin     int    `json:"bound_min"`
	Key          string `json:"key"` // column
	Partitions   int    `json:"partitions"`
	PartitionKey string `json:"partition_key"` // column; "flight" is the flight's number
	Tally
}

// A Tally is the size and the checksum of the results of windows.
type Tally struct {
	Records int64  `json:"records"` // counted or late
	Finals  int64  `json:"finals"`
	Late    int64  `json:"late"`
	Counted int64  `json:"counted"`
	SHA256  string `json:"sha256"` // of the sorted lines key,start,end,count, joined by newlines
}

// Answers returns all known answers.
func Answers() ([]Answer, error) {
	raw, err := files.ReadFile("testdata/answers.json")
	if err != nil {
		return nil, err
	}
	var list []Answer
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("testdata/answers.json: %w", err)
	}
	return list, nil
}

// HoursAnswer returns what the hours of the job come to with the given data,
// spread over so many partitions by the flights' numbers, if that is known.
func (j Job) HoursAnswer(data string, partitions int) (Tally, bool) {
	return answer(Answer{
		Data: bundled[data], Windows: "tumbling", SizeMin: 60, GraceMin: minutes(j.Grace), BoundMin: minutes(j.Bound), Key: "origin",
		Partitions: partitions, PartitionKey: "flight",
	})
}

// SessionsAnswer is HoursAnswer for the sessions of aircraft. With several
// partitions there is none: an aircraft's flights are then on any of them, and
// which of its late flights still find their session depends on how the
// partitions' records arrive between each other.
func (j Job) SessionsAnswer(data string, partitions int) (Tally, bool) {
	return answer(Answer{
		Data: bundled[data], Windows: "session", GapMin: minutes(j.Gap), GraceMin: minutes(j.SessionGrace), BoundMin: minutes(j.Bound),
		Key: "tailnum", Partitions: partitions, PartitionKey: "flight",
	})
}

func minutes(d time.Duration) int { return int(d / time.Minute) }

func answer(question Answer) (Tally, bool) {
	list, err := Answers()
	if err != nil {
		return Tally{}, false
	}
	for _, a := range list {
		t := a.Tally
		if a.Tally = (Tally{}); a == question {
			return t, true
		}
	}
	return Tally{}, false
}

// A Counter adds results up to a Tally.
type Counter struct {
	lines   []string
	counted int64
	late    int64
}

// Hour adds an hour.
func (c *Counter) Hour(h Hour) {
	c.add(h.Origin, h.Start, h.Start.Add(time.Hour), h.Flights)
}

// Session adds a session.
func (c *Counter) Session(s Session) { c.add(s.Aircraft, s.First, s.Last, s.Flights) }

// Late adds a late flight.
func (c *Counter) Late() { c.late++ }

func (c *Counter) add(key string, start, end time.Time, n int64) {
	c.lines = append(c.lines, fmt.Sprintf("%s,%d,%d,%d", key, start.UnixMilli(), end.UnixMilli(), n))
	c.counted += n
}

// Tally returns what was added so far.
func (c *Counter) Tally() Tally {
	lines := slices.Sorted(slices.Values(c.lines))
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return Tally{
		Records: c.counted + c.late, Finals: int64(len(lines)), Late: c.late, Counted: c.counted, SHA256: hex.EncodeToString(sum[:]),
	}
}
