package state

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// sessionSubject drives a Session store as the session operator does, beside a
// map of sessions. It also keeps what someone downstream of its updates knows.
type sessionSubject struct {
	*Session[string]
	w           window.Session
	live, saved sessionModel
	ops         int
	reached     int // records that reached a closed session
}

type sessionModel struct {
	rows      map[string]modelRow // by row key
	told      map[string]string   // values by key and window, as updates told them; those of closed sessions are taken out
	ends      map[string]int64    // by key: when the last closed session ended
	watermark int64
	closedTo  int64
	closing   bool
	latest    int64 // when the last session of the closing under way closes
	over      bool  // a bounded run has ended
}

func newSessionSubject(w window.Session) *sessionSubject {
	s := &sessionSubject{w: w, live: sessionModel{
		rows: map[string]modelRow{}, told: map[string]string{}, ends: map[string]int64{}, watermark: -40, closedTo: math.MinInt64, latest: math.MinInt64,
	}}
	s.save()
	return s
}

func (s *sessionSubject) kind() string { return "session" }

func (s *sessionSubject) open(p *Partition, log Changelog, at Progress) (err error) {
	s.live.over = false
	if s.Session, err = OpenSession(p, log, serde.String, s.w, at); err == nil {
		s.enough = 3
	}
	return err
}

// rowKey is a session's key in the store.
func sessionKey(key string, first int64) string {
	return string(binary.AppendUvarint(nil, uint64(len(key)))) + key + sortable(first)
}

// of returns the row keys of the open sessions of a key, in order.
func (m *sessionModel) of(key string) (ks []string) {
	prefix := sessionKey(key, 0)
	prefix = prefix[:len(prefix)-8]
	for _, k := range slices.Sorted(maps.Keys(m.rows)) {
		if len(k) == len(prefix)+8 && k[:len(prefix)] == prefix {
			ks = append(ks, k)
		}
	}
	return ks
}

func (s *sessionSubject) change(r *rand.Rand) error {
	s.ops++
	key := [...]string{"", "a", "aa", "\xff"}[r.IntN(4)]
	ms := s.live.watermark + r.Int64N(60) - 40
	if s.live.closedTo > math.MinInt64 && r.IntN(3) == 0 { // about where the line between late and not is
		ms = s.live.closedTo - s.w.GapMs() - s.w.GraceMs() + r.Int64N(3*s.w.GapMs()) - s.w.GapMs()
	}
	g, err := s.Of([]byte(key))
	if err != nil {
		return err
	}
	want := s.live.of(key)
	if len(g.Rows) != len(want) {
		return fmt.Errorf("key %q has %d sessions, want %d", key, len(g.Rows), len(want))
	}
	var touched []*Row[string]
	first, last, sum, newest := ms, ms, s.ops, ms
	for i, row := range g.Rows {
		if described(row) != s.live.rows[want[i]].String() || row.key != want[i] {
			return fmt.Errorf("session %d of %q is %s, want %s", i, key, described(row), s.live.rows[want[i]])
		}
		if s.w.Touches(row.Start, row.Last, ms) {
			touched = append(touched, row)
			first, last, newest = min(first, row.Start), max(last, row.Last), max(newest, row.Time)
			n, _ := strconv.Atoi(row.Value)
			sum += n
		}
	}
	end, some := s.live.ends[key]
	reaches := some && ms <= end+s.w.GapMs()
	switch own := len(touched) == 0 && s.w.ClosesAt(ms) <= s.live.closedTo; {
	case s.Reaches(g, ms) && !reaches:
		return fmt.Errorf("a record of %q at %d reaches a closed session, but the last ended at %d (%v)", key, ms, end, some)
	case reaches && !own && !s.Reaches(g, ms):
		return fmt.Errorf("a record of %q at %d does not reach the session that ended at %d", key, ms, end)
	case reaches:
		s.reached++
		return nil
	}
	late := s.w.ClosesAt(last) <= s.live.closedTo
	if s.ClosedAt(last) != late {
		return fmt.Errorf("a session that ends at %d is closed: %v, want %v", last, !late, late)
	}
	if late || r.IntN(10) == 0 { // some records are refused
		return nil
	}
	s.fold(r, g, touched, modelRow{value: strconv.Itoa(sum), time: newest, start: first, last: last})
	return nil
}

// fold does to the store what the operator does for a record.
func (s *sessionSubject) fold(r *rand.Rand, g *Sessions[string], touched []*Row[string], m modelRow) {
	var row *Row[string]
	m.shown = Unshown
	for _, old := range touched {
		k := old.key
		if old.Start == m.start {
			row, m.shown = old, s.live.rows[k].shown
		} else {
			s.Remove(g, old)
		}
		delete(s.live.rows, k)
	}
	if row == nil {
		row = s.Insert(g, m.start, m.last)
	}
	row.Last, row.Value, row.Time, row.Headers = m.last, m.value, m.time, randomHeaders(r)
	s.Touch(row)
	m.headers = printHeaders(row.Headers)
	s.live.rows[row.key] = m
}

// update is what the operator does at the barrier with a row that changed.
func (s *sessionSubject) update(row *Row[string]) error {
	told := func(last int64) string { return fmt.Sprintf("%q [%d,%d]", s.Key(row), row.Start, last) }
	if row.Shown != Unshown && (row.Deleted || row.Shown != row.Last) {
		if _, ok := s.live.told[told(row.Shown)]; !ok {
			return fmt.Errorf("takes back %s, which nobody was told of", told(row.Shown))
		}
		delete(s.live.told, told(row.Shown))
	}
	if row.Deleted {
		return nil
	}
	row.Shown = row.Last
	s.live.told[told(row.Last)] = row.Value
	if m, ok := s.live.rows[row.key]; ok {
		m.shown = row.Last
		s.live.rows[row.key] = m
	}
	return nil
}

func (s *sessionSubject) advance(r *rand.Rand, to int64) error {
	if !s.live.closing {
		s.live.watermark = max(s.live.watermark, to)
	}
	var due []string // order keys
	for k, m := range s.live.rows {
		if s.w.ClosesAt(m.last) <= s.live.watermark {
			due = append(due, orderKey(m.last, k))
		}
	}
	slices.Sort(due)
	limit, n := 1+r.IntN(4), 0
	more, err := s.Close(s.live.watermark, limit, func(row *Row[string]) error {
		if n >= min(limit, len(due)) {
			return fmt.Errorf("closing shows session %d of %d (limit %d): %s", n+1, len(due), limit, described(row))
		}
		k := due[n][8:]
		n++
		return s.final(row, k)
	})
	if err != nil {
		return err
	}
	if n != min(limit, len(due)) || !more && n < len(due) {
		return fmt.Errorf("closing showed %d of %d sessions, limit %d, more %v", n, len(due), limit, more)
	}
	if s.live.closing = more; more {
		return nil
	}
	if s.live.watermark == math.MaxInt64 {
		s.live.watermark, s.live.over = max(s.live.closedTo, s.live.latest), true
		if s.Deadline() != math.MaxInt64 {
			return fmt.Errorf("after the end of a bounded run the deadline is %d", s.Deadline())
		}
	}
	s.live.closedTo, s.live.latest = max(s.live.closedTo, s.live.watermark), math.MinInt64
	if want := (Progress{s.live.closedTo, ""}); s.Progress() != want {
		return fmt.Errorf("progress %v, want %v", s.Progress(), want)
	}
	return nil
}

// final is what the operator does with a session that closes.
func (s *sessionSubject) final(row *Row[string], k string) error {
	if row.key != k || described(row) != s.live.rows[k].String() {
		return fmt.Errorf("closing shows %q: %s, want %q: %s", row.key, described(row), k, s.live.rows[k])
	}
	if s.IsDirty(row) {
		if err := s.update(row); err != nil {
			return err
		}
	}
	told := fmt.Sprintf("%q [%d,%d]", s.Key(row), row.Start, row.Last)
	if v, ok := s.live.told[told]; !ok || v != row.Value {
		return fmt.Errorf("final of %s is %s, but updates told %q (%v)", told, row.Value, v, ok)
	}
	delete(s.live.told, told)
	delete(s.live.rows, k)
	s.live.latest = s.w.ClosesAt(row.Last)
	if end, ok := s.live.ends[s.Key(row)]; !ok || row.Last > end {
		s.live.ends[s.Key(row)] = row.Last
	}
	return nil
}

func (s *sessionSubject) flush(commit int64) error {
	if err := s.Flush(commit, s.update); err != nil {
		return err
	}
	want := map[string]string{}
	for _, m := range s.live.rows {
		want[m.value] = m.value
	}
	for told, v := range s.live.told {
		if _, ok := want[v]; !ok {
			return fmt.Errorf("after the barrier %s is still told downstream", told)
		}
	}
	if len(s.live.told) != len(s.live.rows) {
		return fmt.Errorf("%d sessions are told downstream, want %d", len(s.live.told), len(s.live.rows))
	}
	return nil
}

func (s *sessionSubject) closing() bool            { return s.live.closing }
func (s *sessionSubject) over() bool               { return s.live.over }
func (s *sessionSubject) watermark() int64         { return s.live.watermark }
func (s *sessionSubject) progress() Progress       { return s.Progress() }
func (s *sessionSubject) core() *Writeback[string] { return &s.Writeback }
func (s *sessionSubject) save()                    { s.saved = s.live.clone() }
func (s *sessionSubject) revert()                  { s.live = s.saved.clone() }

func (m sessionModel) clone() sessionModel {
	m.rows, m.told, m.ends = maps.Clone(m.rows), maps.Clone(m.told), maps.Clone(m.ends)
	return m
}

func (s *sessionSubject) closed(key string, row []byte, at Progress) bool {
	last, err := rowLast(key, row)
	return err == nil && (s.w.ClosesAt(last) <= at.Closed || orderKey(last, key) <= at.After)
}

func (s *sessionSubject) verify() error {
	var keys, rows []string
	nearest := int64(math.MaxInt64)
	err := s.All(func(key string, r *Row[string]) bool {
		keys, rows = append(keys, sessionKey(key, r.Start)), append(rows, described(r))
		nearest = min(nearest, s.w.ClosesAt(r.Last))
		return true
	})
	if err != nil {
		return err
	}
	if s.Deadline() > nearest {
		return fmt.Errorf("deadline %d, but a session closes at %d", s.Deadline(), nearest)
	}
	return sameRows(keys, rows, describeAll(s.live.rows))
}

// besides checks the markers: each closed session that a record may still touch
// has one.
func (s *sessionSubject) besides(rows map[string][]byte, at Progress) error {
	for key, end := range s.saved.ends {
		k := sessionKey(key, math.MinInt64)
		due := end + 2*s.w.GapMs()
		if s.w.ClosesAt(due) <= at.Closed || orderKey(due, k) <= at.After {
			continue
		}
		r := &Row[string]{Start: math.MinInt64}
		if err := decodeRow(rows[k], r, serde.String); err != nil || r.Time != end {
			return fmt.Errorf("marker of %q says %d (%v), want %d", key, r.Time, err, end)
		}
	}
	return nil
}

func (s *sessionSubject) expected() map[string]string { return describeAll(s.saved.rows) }

func (s *sessionSubject) cached() (n int64) {
	for k, g := range s.keys {
		n += groupSize(k)
		for _, r := range append(slices.Clone(g.Rows), g.removed...) {
			n += int64(r.size)
		}
		if g.marker != nil {
			n += int64(g.marker.size)
		}
	}
	return n
}
