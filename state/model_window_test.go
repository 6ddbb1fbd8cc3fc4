package state

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// windowSubject drives a Window store beside a map.
type windowSubject struct {
	*Window[string]
	w           window.Fixed
	live, saved windowModel
	ops         int
	changed     map[string]bool // rows since the last barrier
}

type windowModel struct {
	rows      map[string]modelRow // by start and key
	touched   []string            // rows in the order in which they changed since the barrier
	watermark int64
	closedTo  int64
	closing   bool
	latest    int64 // when the last window of the closing under way closes
	over      bool  // a bounded run has ended
}

func newWindowSubject(w window.Fixed) *windowSubject {
	m := windowModel{rows: map[string]modelRow{}, watermark: -40, closedTo: math.MinInt64, latest: math.MinInt64}
	s := &windowSubject{w: w, live: m}
	s.save()
	return s
}

func (s *windowSubject) kind() string { return "window" }

func (s *windowSubject) open(p *Partition, log Changelog, at Progress) (err error) {
	s.live.over, s.changed = false, map[string]bool{}
	s.Window, err = OpenWindow(p, log, serde.String, s.w, at)
	return err
}

func (s *windowSubject) change(r *rand.Rand) error {
	s.ops++
	key := [...]string{"", "a", "aa", "b", "\xff"}[r.IntN(5)]
	ms := s.live.watermark + r.Int64N(90) - 40
	for start := s.w.First(ms); start <= ms; start = s.w.Next(start) {
		if want := s.w.ClosesAt(start) <= s.live.closedTo; s.Closed(start) != want {
			return fmt.Errorf("window %d closed: %v, want %v", start, !want, want)
		} else if want {
			continue
		}
		if err := s.upsert(r, start, key, ms); err != nil {
			return err
		}
	}
	return nil
}

func (s *windowSubject) upsert(r *rand.Rand, start int64, key string, ms int64) error {
	k := sortable(start) + key
	was, had := s.live.rows[k]
	row, existed, err := s.Upsert(start, []byte(key))
	if err != nil {
		return err
	}
	if existed != had || had && described(row) != was.String() {
		return fmt.Errorf("upsert %d %q: existed %v: %s, want %v: %s", start, key, existed, described(row), had, was)
	}
	if !existed && r.IntN(5) == 0 {
		s.Forget(row)
		return nil
	}
	row.Value += fmt.Sprintf("%d,", s.ops)
	row.Time, row.Headers = ms, randomHeaders(r)
	s.Touch(row)
	s.changed[k] = true
	if !slices.Contains(s.live.touched, k) {
		s.live.touched = append(s.live.touched, k)
	}
	s.live.rows[k] = modelRow{value: row.Value, time: ms, start: start, headers: printHeaders(row.Headers)}
	return nil
}

func (s *windowSubject) advance(r *rand.Rand, to int64) error {
	if !s.live.closing {
		s.live.watermark = max(s.live.watermark, to)
	} else if r.IntN(3) == 0 {
		s.live.watermark = max(s.live.watermark, to) // it may move on while closing
	}
	var due []string
	for _, k := range slices.Sorted(maps.Keys(s.live.rows)) {
		if s.w.ClosesAt(fromSortable([]byte(k))) <= s.live.watermark {
			due = append(due, k)
		}
	}
	if r.IntN(3) == 0 {
		return s.discard(due)
	}
	if !s.live.closing && r.IntN(5) == 0 {
		return s.discard(due)
	}
	limit, n := 1+r.IntN(6), 0
	more, err := s.Close(s.live.watermark, limit, func(row *Row[string]) error {
		if n >= min(limit, len(due)) {
			return fmt.Errorf("closing shows row %d of %d (limit %d): %s", n+1, len(due), limit, described(row))
		}
		want := s.live.rows[due[n]]
		if row.key != due[n] || s.Key(row) != due[n][8:] || described(row) != want.String() {
			return fmt.Errorf("closing shows %q: %s, want %q: %s", row.key, described(row), due[n], want)
		}
		delete(s.live.rows, due[n])
		s.live.latest = s.w.ClosesAt(row.Start)
		n++
		return nil
	})
	if err != nil {
		return err
	}
	if n != min(limit, len(due)) || !more && n < len(due) {
		return fmt.Errorf("closing showed %d of %d rows, limit %d, more %v", n, len(due), limit, more)
	}
	if s.live.closing = more; more {
		return nil
	}
	return s.closedAll()
}

// discard closes what is due without showing it, but for what changed.
func (s *windowSubject) discard(due []string) error {
	want := map[string]modelRow{}
	for _, k := range due {
		if s.changed[k] {
			want[k] = s.live.rows[k]
		}
		s.live.latest = max(s.live.latest, s.w.ClosesAt(fromSortable([]byte(k))))
		delete(s.live.rows, k)
	}
	err := s.Discard(s.live.watermark, func(row *Row[string]) error {
		w, ok := want[row.key]
		if delete(want, row.key); !ok || described(row) != w.String() {
			return fmt.Errorf("discarding shows %q: %s, want %s", row.key, described(row), w)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(want) > 0 {
		return fmt.Errorf("discarding did not show %v", want)
	}
	s.live.closing = false
	return s.closedAll()
}

// closedAll takes note that nothing is due any more.
func (s *windowSubject) closedAll() error {
	if s.live.watermark == math.MaxInt64 {
		s.live.closedTo = max(s.live.closedTo, s.live.latest)
		s.live.watermark, s.live.over = max(-40, s.live.closedTo), true
		if s.Deadline() != math.MaxInt64 {
			return fmt.Errorf("after the end of a bounded run the deadline is %d", s.Deadline())
		}
	} else {
		s.live.closedTo = max(s.live.closedTo, s.live.watermark)
	}
	s.live.latest = math.MinInt64
	if want := (Progress{s.live.closedTo, ""}); s.Progress() != want {
		return fmt.Errorf("progress %v, want %v", s.Progress(), want)
	}
	return nil
}

func (s *windowSubject) flush(commit int64) error {
	clear(s.changed)
	return s.Flush(commit, nil)
}

func (s *windowSubject) closing() bool            { return s.live.closing }
func (s *windowSubject) over() bool               { return s.live.over }
func (s *windowSubject) watermark() int64         { return s.live.watermark }
func (s *windowSubject) progress() Progress       { return s.Progress() }
func (s *windowSubject) core() *Writeback[string] { return &s.Writeback }

func (s *windowSubject) save() {
	s.saved = s.live
	s.saved.rows, s.saved.touched = maps.Clone(s.live.rows), nil
}

func (s *windowSubject) revert() {
	s.live = s.saved
	s.live.rows = maps.Clone(s.saved.rows)
}

func (s *windowSubject) closed(key string, _ []byte, at Progress) bool {
	return s.w.ClosesAt(fromSortable([]byte(key))) <= at.Closed || key <= at.After
}

func (s *windowSubject) verify() error {
	var keys, rows []string
	nearest := int64(math.MaxInt64)
	err := s.All(func(key string, r *Row[string]) bool {
		keys, rows = append(keys, sortable(r.Start)+key), append(rows, described(r))
		nearest = min(nearest, s.w.ClosesAt(r.Start))
		return true
	})
	if err != nil {
		return err
	}
	if s.Deadline() > nearest {
		return fmt.Errorf("deadline %d, but a window closes at %d", s.Deadline(), nearest)
	}
	return sameRows(keys, rows, describeAll(s.live.rows))
}

func (s *windowSubject) besides(map[string][]byte, Progress) error { return nil }

func (s *windowSubject) expected() map[string]string { return describeAll(s.saved.rows) }

func (s *windowSubject) cached() (n int64) {
	for _, p := range s.panes {
		for _, r := range p.rows {
			n += int64(r.size)
		}
	}
	return n
}
