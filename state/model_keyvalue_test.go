package state

import (
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/weirstream/weir/serde"
)

// keyValueSubject drives a KeyValue store beside a map.
type keyValueSubject struct {
	*KeyValue[string]
	live, saved map[string]modelRow
	ops         int
}

func newKeyValueSubject() *keyValueSubject {
	return &keyValueSubject{live: map[string]modelRow{}, saved: map[string]modelRow{}}
}

func (s *keyValueSubject) kind() string { return "key-value" }

func (s *keyValueSubject) open(p *Partition, log Changelog, _ Progress) (err error) {
	s.KeyValue, err = OpenKeyValue(p, log, serde.String)
	return err
}

func (s *keyValueSubject) change(r *rand.Rand) error {
	s.ops++
	key := [...]string{"", "a", "aa", "b", "\x00", "\xff\xff", "c", "d"}[r.IntN(8)]
	was, had := s.live[key]
	switch r.IntN(6) {
	case 0:
		return s.remove(key, had)
	case 1:
		row, err := s.Get([]byte(key))
		if err == nil && (row != nil) != had {
			return fmt.Errorf("get %q: found %v, want %v", key, row != nil, had)
		} else if err == nil && had && described(row) != was.String() {
			return fmt.Errorf("get %q: %s, want %s", key, described(row), was)
		}
		return err
	}
	row, existed, err := s.Upsert([]byte(key))
	if err != nil {
		return err
	}
	if existed != had || row.Value != was.value {
		return fmt.Errorf("upsert %q: existed %v with %q, want %v with %q", key, existed, row.Value, had, was.value)
	}
	if !existed && r.IntN(4) == 0 {
		s.Undo(row)
		return nil
	}
	row.Value = fmt.Sprintf("%.*s%d", r.IntN(20), "....................", s.ops)
	row.Time, row.Headers = r.Int64N(100)-50, randomHeaders(r)
	s.Touch(row)
	s.live[key] = modelRow{value: row.Value, time: row.Time, headers: printHeaders(row.Headers)}
	return nil
}

func (s *keyValueSubject) remove(key string, had bool) error {
	row, err := s.Delete([]byte(key))
	if err == nil && (row != nil) != had {
		return fmt.Errorf("delete %q: found %v, want %v", key, row != nil, had)
	}
	delete(s.live, key)
	return err
}

func (s *keyValueSubject) advance(*rand.Rand, int64) error { return nil }
func (s *keyValueSubject) closing() bool                   { return false }
func (s *keyValueSubject) over() bool                      { return false }
func (s *keyValueSubject) watermark() int64                { return 0 }
func (s *keyValueSubject) flush(commit int64) error        { return s.Flush(commit, nil) }
func (s *keyValueSubject) save()                           { s.saved = maps.Clone(s.live) }
func (s *keyValueSubject) revert()                         { s.live = maps.Clone(s.saved) }
func (s *keyValueSubject) progress() Progress              { return Progress{} }
func (s *keyValueSubject) core() *Writeback[string]        { return &s.Writeback }

func (s *keyValueSubject) besides(map[string][]byte, Progress) error { return nil }

func (s *keyValueSubject) closed(string, []byte, Progress) bool { return false }

func (s *keyValueSubject) verify() error {
	var keys, rows []string
	err := s.All(func(key string, r *Row[string]) bool {
		keys, rows = append(keys, key), append(rows, described(r))
		return true
	})
	if err != nil {
		return err
	}
	return sameRows(keys, rows, describeAll(s.live))
}

func (s *keyValueSubject) expected() map[string]string { return describeAll(s.saved) }

func (s *keyValueSubject) cached() (n int64) {
	for _, r := range s.rows {
		n += int64(r.size)
	}
	return n
}

func describeAll(rows map[string]modelRow) map[string]string {
	d := map[string]string{}
	for k, m := range rows {
		d[k] = m.String()
	}
	return d
}
