package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// An Event is one record of the input. Its event time is the Kafka record's.
type Event struct {
	Seq       int64
	User      string
	Amount    int64
	Straggler bool // it may be older than the bound of its partition allows
}

// ByUser is the key that the topology groups by.
func (e Event) ByUser() string { return e.User }

// A Total is what is kept of a user. N numbers its states, and with the order kept N determines Sum.
type Total struct {
	N, Sum, Max, LastSeq int64
}

func (t Total) add(e Event) Total {
	return Total{N: t.N + 1, Sum: t.Sum*31 + e.Amount, Max: max(t.Max, e.Amount), LastSeq: e.Seq}
}

// The event time of the input, in ms: it begins at epochMs, and each record advances it by a fraction of a ms.
const (
	epochMs        = 1_767_225_600_000 // 2026-01-01
	recordsPerMs   = 2.5
	disorderMs     = 4_000 // how far a record may be behind, within the bound
	stragglesMs    = 40_000
	straggleShare  = 0.003
	hotUsers       = 200
	hotShare       = 0.3
	userShare      = 0.44 // users for each record of the planned input
	userMultiplier = 1_000_003
)

// A generator makes the input, the same for the same seed. Each user's events are in one partition, in order.
type generator struct {
	rng   *rand.Rand
	users int64
	next  int64
}

func newGenerator(seed uint64, records int64) *generator {
	return &generator{rng: rand.New(rand.NewPCG(seed, 1)), users: max(int64(float64(records)*userShare), hotUsers)}
}

// event returns the next event and its time. Every user comes once before any comes again.
func (g *generator) event() (Event, int64) {
	user := g.next * userMultiplier % g.users
	switch {
	case g.next < g.users:
	case g.rng.Float64() < hotShare:
		user = g.rng.Int64N(hotUsers)
	default:
		user = g.rng.Int64N(g.users)
	}
	e := Event{Seq: g.next, User: userName(user), Amount: g.rng.Int64N(1000)}
	ms := epochMs + int64(float64(g.next)/recordsPerMs) - g.rng.Int64N(disorderMs)
	if e.Straggler = g.rng.Float64() < straggleShare; e.Straggler {
		ms -= g.rng.Int64N(stragglesMs)
	}
	g.next++
	return e, ms
}

func userName(n int64) string { return fmt.Sprintf("user-%07d", n) }

// userNumber is userName's inverse.
func userNumber(name string) (int, error) {
	digits, ok := strings.CutPrefix(name, "user-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no user of the input", name)
	}
	return n, nil
}

// home is the partition that a user's events are in.
func home(user int) int32 { return int32(user % partitions) }
