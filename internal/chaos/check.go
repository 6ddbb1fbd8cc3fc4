package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/serde"
)

// A check compares one output topic with the oracle: add takes its records, in order within each partition, end says
// what was missing. Both report differences.
type check interface {
	add(r *kgo.Record) error
	end()
}

// A complaint is called with each difference.
type complaint func(format string, args ...any)

// where names a record.
func where(r *kgo.Record) string { return fmt.Sprintf("%s/%d@%d", r.Topic, r.Partition, r.Offset) }

// checks returns those of all output topics.
func checks(o *oracle, wrong complaint) map[string]check {
	closed, _ := o.sessions()
	return map[string]check{
		totalsName:   &totalsCheck{oracle: o, wrong: wrong, last: map[int]int64{}},
		updatesName:  &updatesCheck{oracle: o, wrong: wrong, last: map[pane]int64{}},
		finalsName:   &finalsCheck{oracle: o, wrong: wrong, seen: map[pane]bool{}},
		sessionsName: &sessionsCheck{closed: closed, wrong: wrong, seen: map[visit]bool{}},
		lateName:     &lateCheck{oracle: o, wrong: wrong, seen: map[int64]int{}},
	}
}

// totalsCheck: each update is a state that the user went through, later ones come later, and the last is the last.
type totalsCheck struct {
	oracle *oracle
	wrong  complaint
	last   map[int]int64 // N
}

func (c *totalsCheck) add(r *kgo.Record) error {
	t, err := totals.Value.Decode(r.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", where(r), err)
	}
	user, err := userNumber(string(r.Key))
	if err != nil {
		return fmt.Errorf("%s: %w", where(r), err)
	}
	if why := c.oracle.state(user, t); why != "" {
		c.wrong("%s: %s", where(r), why)
		return nil
	}
	if t.N <= c.last[user] {
		c.wrong("%s: %s has state %d after %d", where(r), r.Key, t.N, c.last[user])
	}
	c.last[user] = max(c.last[user], t.N)
	return nil
}

func (c *totalsCheck) end() {
	for user, states := range c.oracle.totals {
		if n := int64(len(states)); c.last[user] != n {
			c.wrong("%s: the last state of %s is %d, want %d", totalsName, userName(int64(user)), c.last[user], n)
		}
	}
}

// state says why t is no state of the user; empty if it is one.
func (o *oracle) state(user int, t Total) string {
	switch {
	case user >= len(o.totals) || t.N < 1 || t.N > int64(len(o.totals[user])):
		return fmt.Sprintf("%s has no state %d", userName(int64(user)), t.N)
	case o.totals[user][t.N-1] != t:
		return fmt.Sprintf("%s has %+v, want %+v", userName(int64(user)), t, o.totals[user][t.N-1])
	}
	return ""
}

// windowed decodes a record of windowed counts.
func windowed(r *kgo.Record) (user int, start, end, n int64, err error) {
	key, err := windowedUser.Decode(r.Key)
	if err == nil {
		user, err = userNumber(key.Key)
	}
	if err == nil {
		n, err = serde.Int64.Decode(r.Value)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", where(r), err)
	}
	return user, key.Span.StartMs(), key.Span.EndMs(), n, err
}

// updatesCheck: the counts of a window only grow, and end at the count.
type updatesCheck struct {
	oracle *oracle
	wrong  complaint
	last   map[pane]int64
}

func (c *updatesCheck) add(r *kgo.Record) error {
	user, start, end, n, err := windowed(r)
	if err != nil {
		return err
	}
	p := pane{user, start}
	if want := c.oracle.views[p]; n > want || end != start+windowMs {
		c.wrong("%s: user %d has %d in window %d to %d, want at most %d", where(r), user, n, start, end, want)
	}
	if n <= c.last[p] {
		c.wrong("%s: user %d has %d after %d in window %d", where(r), user, n, c.last[p], start)
	}
	c.last[p] = max(c.last[p], n)
	return nil
}

func (c *updatesCheck) end() {
	for p, n := range c.oracle.views {
		if c.last[p] != n {
			c.wrong("%s: user %d has %d in window %d, want %d", updatesName, p.user, c.last[p], p.start, n)
		}
	}
}

// finalsCheck: each window that has closed has one result, the right one.
type finalsCheck struct {
	oracle *oracle
	wrong  complaint
	seen   map[pane]bool
}

func (c *finalsCheck) add(r *kgo.Record) error {
	user, start, end, n, err := windowed(r)
	if err != nil {
		return err
	}
	p := pane{user, start}
	switch {
	case c.seen[p]:
		c.wrong("%s: a second final for user %d, window %d", where(r), user, start)
	case !c.oracle.closed(p):
		c.wrong("%s: a final for user %d, window %d, which is open", where(r), user, start)
	case c.oracle.views[p] != n || end != start+windowMs || r.Timestamp.UnixMilli() != end-1:
		c.wrong("%s: the final for user %d, window %d to %d is %d at %d, want %d",
			where(r), user, start, end, n, r.Timestamp.UnixMilli(), c.oracle.views[p])
	}
	c.seen[p] = true
	return nil
}

func (c *finalsCheck) end() {
	for p, n := range c.oracle.views {
		if c.oracle.closed(p) && !c.seen[p] {
			c.wrong("%s: no final for user %d, window %d, want %d", finalsName, p.user, p.start, n)
		}
	}
}

// sessionsCheck: each session that has closed has one result, the right one.
type sessionsCheck struct {
	closed map[visit]int64
	wrong  complaint
	seen   map[visit]bool
}

func (c *sessionsCheck) add(r *kgo.Record) error {
	user, start, end, n, err := windowed(r)
	if err != nil {
		return err
	}
	v := visit{user, start, end - 1}
	want, ok := c.closed[v]
	switch {
	case c.seen[v]:
		c.wrong("%s: a second final for user %d, session %d to %d", where(r), user, start, end)
	case !ok || want != n || r.Timestamp.UnixMilli() != v.last:
		c.wrong("%s: the final for user %d, session %d to %d is %d at %d, want %d", where(r), user, start, end, n, r.Timestamp.UnixMilli(), want)
	}
	c.seen[v] = true
	return nil
}

func (c *sessionsCheck) end() {
	for v, n := range c.closed {
		if !c.seen[v] {
			c.wrong("%s: no final for user %d, session %d to %d, want %d", sessionsName, v.user, v.first, v.last, n)
		}
	}
}

// lateCheck: each late record is there as often as in the input.
type lateCheck struct {
	oracle *oracle
	wrong  complaint
	seen   map[int64]int // by Seq
}

func (c *lateCheck) add(r *kgo.Record) error {
	e, err := late.Value.Decode(r.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", where(r), err)
	}
	if c.seen[e.Seq]++; c.seen[e.Seq] > c.oracle.late[e.Seq] || e.User != string(r.Key) {
		c.wrong("%s: event %d of %s is there %d times, want %d of %s", where(r), e.Seq, r.Key, c.seen[e.Seq], c.oracle.late[e.Seq], e.User)
	}
	return nil
}

func (c *lateCheck) end() {
	for seq, n := range c.oracle.late {
		if c.seen[seq] < n {
			c.wrong("%s: late event %d is there %d times, want %d", lateName, seq, c.seen[seq], n)
		}
	}
}
