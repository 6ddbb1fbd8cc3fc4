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
	markers   map[string]marker   // by row key without its time
	watermark int64
	closedTo  int64
	closing   bool
	latest    int64 // when the last session of the closing under way closes
	over      bool  // a bounded run has ended
}

// A marker is what a key remembers of its last closed session.
type marker struct {
	end int64 // when it ended
	due int64 // the marker itself closes as a session does that ends then
}

func newSessionSubject(w window.Session) *sessionSubject {
	s := &sessionSubject{w: w, live: sessionModel{
		rows: map[string]modelRow{}, told: map[string]string{}, markers: map[string]marker{},
		watermark: -40, closedTo: math.MinInt64, latest: math.MinInt64,
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
	m, some := s.live.markers[g.key]
	reaches := some && ms <= m.end+s.w.GapMs()
	if s.Reaches(g, ms) != reaches {
		return fmt.Errorf("a record of %q at %d reaches a closed session: %v, want %v (%v, marker %v)", key, ms, !reaches, reaches, some, m)
	}
	if reaches {
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
	m.rows, m.told, m.markers = maps.Clone(m.rows), maps.Clone(m.told), maps.Clone(m.markers)
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
