package streamtest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/weirstream/weir/internal/model"
)

// A modelCase is one random run that the engine and the model are to agree on.
type modelCase struct {
	seed   uint64
	setup  model.Setup
	second int64 // size of the windows that final results go into; 0: none
	events []model.Event

	commitEvery, workers, closeStep int
	cache                           int64
	again                           int // partitions of the repartition topic; 0: as many as in
}

// The flavours of a restart, in Event.ID. Greater numbers rescale to so many
// workers, less two.
const (
	crash = iota
	crashAndWipe
	rescale
)

func (c modelCase) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v, finals again in %d, commit every %d, %d workers, closing step %d, cache %d, repartition topic of %d\n",
		c.setup, c.second, c.commitEvery, c.workers, c.closeStep, c.cache, c.again)
	for _, e := range c.events {
		switch e.Kind {
		case model.Record:
			fmt.Fprintf(&b, "  record %d: %s @%d in partition %d\n", e.ID, e.Key, e.Time, e.Partition)
		case model.Advance:
			fmt.Fprintf(&b, "  advance to %d\n", e.Time)
		case model.Sleep:
			fmt.Fprintf(&b, "  sleep %d ms\n", e.Time)
		case model.Restart:
			fmt.Fprintf(&b, "  restart %d\n", e.ID)
		}
	}
	return b.String()
}

const idleTimeout = 1000 // ms

// newModelCase makes a case out of a seed.
func newModelCase(seed uint64) modelCase {
	for attempt := uint64(0); ; attempt++ {
		g := caseMaker{rng: rand.New(rand.NewPCG(seed, attempt))}
		g.c.seed = seed
		g.choose()
		for range 1 + g.rng.IntN(25) {
			g.event()
		}
		if !model.Run(g.c.setup, g.c.events, false).Stalled {
			return g.c
		}
	}
}

type caseMaker struct {
	rng   *rand.Rand
	c     modelCase
	last  int64 // time of the last record
	marks [3]int64
	tame  bool // records stay within their partition's bound
}

func (g *caseMaker) one(of ...int64) int64 { return of[g.rng.IntN(len(of))] }

func (g *caseMaker) choose() {
	s := &g.c.setup
	switch g.rng.IntN(3) {
	case 0:
		s.Size = 1 + g.rng.Int64N(20)
		s.Advance = s.Size
	case 1:
		s.Size = 1 + g.rng.Int64N(20)
		s.Advance = 1 + g.rng.Int64N(s.Size)
	case 2:
		s.Gap = 1 + g.rng.Int64N(15)
	}
	if s.Gap == 0 {
		s.Offset = g.one(0, 0, 3, -7, g.rng.Int64N(s.Advance))
		s.Offset = ((s.Offset % s.Advance) + s.Advance) % s.Advance
	}
	s.Grace = g.one(0, 0, 1, 5, g.rng.Int64N(30))
	s.Bound = g.one(0, 0, 1, g.rng.Int64N(15))
	s.Partitions = int(g.one(1, 1, 2, 3))
	s.Regrouped = g.rng.IntN(2) == 0
	if s.Regrouped && s.Partitions > 1 && g.rng.IntN(3) == 0 {
		s.Idle = idleTimeout
	}
	g.c.second = g.one(0, 0, 1+g.rng.Int64N(40))
	g.c.commitEvery = int(g.one(1, 1, 2, 3, 1000))
	if s.Idle > 0 { // what is idle when is a function of arrival
		g.c.commitEvery = 1
	}
	g.c.workers = int(g.one(1, 1, 1, 2, 3))
	g.c.closeStep = int(g.one(0, 0, 1, 2))
	g.c.cache = g.one(-1, -1, 0, 500)
	g.c.again = int(g.one(0, 0, 1, 3))
	g.tame = g.rng.IntN(2) == 0
	for i := range g.marks {
		g.marks[i] = -1 << 60
	}
}

func (g *caseMaker) event() {
	e := model.Event{ID: len(g.c.events), Partition: g.rng.IntN(g.c.setup.Partitions)}
	switch n := g.rng.IntN(20); {
	case n == 0:
		e.Kind, e.Time = model.Advance, g.time()
		for i := range g.marks {
			g.marks[i] = max(g.marks[i], e.Time)
		}
	case n <= 2:
		e.Kind, e.ID = model.Restart, g.rng.IntN(rescale+4)
	case n <= 5 && g.c.setup.Idle > 0:
		e.Kind, e.Time = model.Sleep, 100*(1+g.rng.Int64N(14))
	default:
		g.record(&e)
	}
	g.c.events = append(g.c.events, e)
}

func (g *caseMaker) record(e *model.Event) {
	e.Key = string('a' + rune(g.rng.IntN(3)))
	e.Time = g.time()
	s := g.c.setup
	// Sessions of keys that several partitions feed are a function of arrival once a record breaks its partition's bound.
	if shared := s.Gap > 0 && s.Regrouped && s.Partitions > 1; shared && g.tame {
		e.Time = max(e.Time, g.marks[e.Partition])
	} else if shared {
		e.Key = string('a' + rune(2*e.Partition+g.rng.IntN(2)))
	}
	g.marks[e.Partition] = max(g.marks[e.Partition], e.Time-s.Bound)
	g.last = e.Time
}

// time draws a time: anywhere, near the last, or at an edge.
func (g *caseMaker) time() int64 {
	s := g.c.setup
	switch g.rng.IntN(6) {
	case 0:
		return g.rng.Int64N(231) - 30
	case 1:
		return g.last
	case 2:
		return g.last + g.one(s.Gap, s.Gap+1, -s.Gap, s.Gap+s.Grace, s.Gap+s.Grace+1, s.Gap+s.Grace+2, -s.Gap-s.Grace)
	case 3:
		if s.Gap == 0 {
			edge := s.Offset + s.Advance*(g.last/s.Advance+g.rng.Int64N(5)-2)
			return edge + g.one(0, 0, -1, 1, s.Grace, s.Grace+s.Bound, s.Size, s.Size+s.Grace)
		}
	}
	return g.last + g.rng.Int64N(25) - 8
}
