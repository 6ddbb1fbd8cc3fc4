package state

import "math"

// segments tells which head of a changelog can be cut off: a stretch of it is
// no longer needed once every row in it is closed, since a row that was written
// again later stands in a later stretch.
type segments struct {
	list  []segment
	from  int64 // where the present stretch begins
	until int64 // the latest deadline in the present stretch
	some  bool
}

// A segment is a stretch of the changelog: its first offset, and when the last
// of its rows is closed.
type segment struct{ from, until int64 }

// maxSegments bounds the list; beyond it, neighbours are merged.
const maxSegments = 1024

func (s *segments) flushed(deadline int64) {
	if !s.some || deadline > s.until {
		s.until = deadline
	}
	s.some = true
}

// open says that the log up to offset end may hold rows up to that deadline.
func (s *segments) open(from, deadline int64) {
	s.list = append(s.list, segment{from, deadline})
}

func (s *segments) committed(end int64) {
	if s.some {
		s.list = append(s.list, segment{s.from, s.until})
	}
	s.from, s.some = end, false
	if len(s.list) <= maxSegments {
		return
	}
	half := s.list[:0]
	for i := 0; i < len(s.list); i += 2 {
		m := s.list[i]
		if i+1 < len(s.list) {
			m.until = max(m.until, s.list[i+1].until)
		}
		half = append(half, m)
	}
	s.list = half
}

func (s *segments) neededFrom(watermark int64) int64 {
	n := 0
	for n < len(s.list) && s.list[n].until <= watermark && watermark != math.MinInt64 {
		n++
	}
	s.list = append(s.list[:0], s.list[n:]...)
	if len(s.list) > 0 {
		return s.list[0].from
	}
	return s.from
}
