package watermark_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weirstream/weir/watermark"
)

// silence is a log and its reader, simulated millisecond by millisecond. The log grows by records and by other entries;
// the reader may be slow, or paused; answers are made by the broker at some moment after the question and arrive later.
type silence struct {
	now, timeout  int64
	ends          []int64 // the log's end at each millisecond
	record        []bool  // whether the entry at each offset is a record
	position      int64
	lastRecord    int64 // when a record was last observed, or the partition was paused
	paused        bool
	state         *watermark.Idleness
	answers       []answer // on their way
	questionsSent int
}

type answer struct{ sentAt, end, arrives int64 }

// grow appends one entry to the log.
func (s *silence) grow(isRecord bool) {
	s.record = append(s.record, isRecord)
}

// tick lets one millisecond pass: the reader reads up to n entries, answers arrive, and the state is observed.
func (s *silence) tick(t *rapid.T, n int, delay func() int64) {
	s.now++
	s.ends = append(s.ends, int64(len(s.record)))
	got := false
	for ; n > 0 && !s.paused && s.position < int64(len(s.record)); n-- {
		got = got || s.record[s.position]
		s.position++
	}
	if got || s.paused {
		s.lastRecord = s.now
	}
	ask := s.state.Observe(s.now, s.position, got, s.paused)
	if ask {
		s.questionsSent++
		require.GreaterOrEqual(t, s.now, s.lastRecord+s.timeout, "asked before the timeout had run out")
		if d := delay(); d >= 0 {
			s.answers = append(s.answers, answer{s.now, int64(len(s.record)), s.now + d})
		}
	}
	rest := s.answers[:0]
	for _, a := range s.answers {
		if a.arrives > s.now {
			rest = append(rest, a)
		} else if was := s.state.Idle(); s.state.Answer(a.sentAt, a.end, s.position) && !was {
			s.requireProof(t, a)
		}
	}
	s.answers = rest
	if s.paused || got {
		require.False(t, s.state.Idle())
	}
}

// requireProof demands what idleness means: a whole timeout of silence before the question, silence ever since, and the
// reader's position equal to the log's end at some moment after the question.
func (s *silence) requireProof(t *rapid.T, a answer) {
	require.LessOrEqual(t, s.lastRecord+s.timeout, a.sentAt, "silent for too short a time")
	require.False(t, s.paused)
	require.Equal(t, s.position, a.end)
	require.Equal(t, s.ends[a.sentAt-1], a.end)
}

func TestIdlenessIsProved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &silence{timeout: rapid.SampledFrom([]int64{1, 5, 150}).Draw(t, "timeout")}
		s.state = watermark.NewIdleness(watermark.Bounded(0).Idle(time.Duration(s.timeout)*ms), 0)
		delay := func() int64 { return rapid.Int64Range(-1, 250).Draw(t, "answer after") } // -1: it never comes
		for range rapid.IntRange(1, 30).Draw(t, "phases") {
			switch rapid.IntRange(0, 4).Draw(t, "event") {
			case 0:
				s.grow(true)
			case 1:
				s.grow(false)
			case 2:
				s.paused = !s.paused
			}
			reads := rapid.IntRange(0, 2).Draw(t, "reads")
			for range rapid.IntRange(1, 120).Draw(t, "ms") {
				s.tick(t, reads, delay)
			}
		}

		// Left alone, with a broker that answers, the partition falls idle.
		s.paused = false
		for range s.timeout + 1000 {
			s.tick(t, 2, func() int64 { return 1 })
		}
		require.True(t, s.state.Idle())
		before := s.questionsSent
		for range 10_000 {
			s.tick(t, 2, func() int64 { return 1 })
		}
		require.True(t, s.state.Idle())
		require.LessOrEqual(t, s.questionsSent-before, 101, "ten questions a second are enough")

		// A record that is there but not read ends it, since the proof is renewed.
		s.grow(true)
		for range 400 {
			s.tick(t, 0, func() int64 { return 1 })
		}
		require.False(t, s.state.Idle())
	})
}

// A clock that is put back, be it by less than has passed in all, has measured nothing: the silence begins anew.
func TestIdlenessStartsAnewWhenTheClockIsPutBack(t *testing.T) {
	d := watermark.NewIdleness(watermark.Bounded(0).Idle(100*ms), 0)
	require.False(t, d.Observe(90, 7, false, false))
	require.False(t, d.Observe(50, 7, false, false), "put back by 40")
	require.False(t, d.Observe(100, 7, false, false))
	require.False(t, d.Observe(149, 7, false, false))
	require.True(t, d.Observe(150, 7, false, false))
	require.True(t, d.Answer(150, 7, 7))
	require.False(t, d.Observe(149, 7, false, false))
	require.False(t, d.Idle())
}
