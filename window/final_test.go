package window_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/window"
)

// counter counts the records of each key and window, and gives the count when the window closes. It is the smallest
// operator that uses every rule of this package; the watermark is the greatest time seen.
type counter struct {
	fixed     window.Fixed
	session   window.Session
	sessions  bool
	watermark int64
	open      []count
	utc       bool // times were given as text
	out       strings.Builder
}

type count struct {
	key  string
	span window.Span
	n    int
}

// TestFinals shows in testdata/final.txt when windows close and which records are late.
func TestFinals(t *testing.T) {
	datadriven.RunTest(t, "testdata/final.txt", func(t *testing.T, d *datadriven.TestData) string {
		c := newCounter(t, d)
		for _, line := range strings.Split(d.Input, "\n") {
			key, at, ok := strings.Cut(line, " ")
			require.True(t, ok, "%s: %q", d.Pos, line)
			c.record(key, c.parse(t, at))
		}
		return c.out.String()
	})
}

// newCounter reads the description of the windows from the directive.
func newCounter(t *testing.T, d *datadriven.TestData) *counter {
	c := &counter{watermark: -1 << 63}
	var grace, offset time.Duration
	for _, arg := range d.CmdArgs {
		switch d := func(i int) time.Duration { return parseDuration(t, arg.Vals[i]) }; arg.Key {
		case "tumbling":
			c.fixed = window.Tumbling(d(0))
		case "hopping":
			c.fixed = window.Hopping(d(0), d(1))
		case "day":
			c.fixed = window.Calendar(window.Day, zone(t, arg.Vals[0]))
		case "gap":
			c.session, c.sessions = window.Gap(d(0)), true
		case "grace":
			grace = d(0)
		case "offset":
			offset = d(0)
		default:
			t.Fatalf("unknown argument %v", arg)
		}
	}
	c.fixed, c.session = c.fixed.Offset(offset).Grace(grace), c.session.Grace(grace)
	if c.sessions {
		require.NoError(t, c.session.Validate())
	} else {
		require.NoError(t, c.fixed.Validate())
	}
	return c
}

func parseDuration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

func (c *counter) parse(t *testing.T, text string) int64 {
	if ts, err := strconv.ParseInt(text, 10, 64); err == nil {
		return ts
	}
	c.utc = true
	return instant(t, text).UnixMilli()
}

// record counts one record, moves the watermark, and closes what is due.
func (c *counter) record(key string, ts int64) {
	if c.sessions {
		c.addToSession(key, ts)
	} else {
		for start := c.fixed.First(ts); start <= ts; start = c.fixed.Next(start) {
			span := window.Millis(start, c.fixed.EndOf(start))
			if c.fixed.Late(start, c.watermark) {
				fmt.Fprintf(&c.out, "at %s: (%s, %s) is late for %s\n", c.time(c.watermark), key, c.time(ts), c.show(span))
				continue
			}
			c.add(key, span, 1)
		}
	}
	c.watermark = max(c.watermark, ts)
	c.close()
}

// addToSession merges a record with the sessions it touches.
func (c *counter) addToSession(key string, ts int64) {
	touched := func(o count) bool {
		return o.key == key && c.session.Touches(o.span.StartMs(), o.span.EndMs()-1, ts)
	}
	first, last, n := ts, ts, 1
	for _, o := range c.open {
		if touched(o) {
			first, last, n = min(first, o.span.StartMs()), max(last, o.span.EndMs()-1), n+o.n
		}
	}
	span := window.Millis(first, last+1)
	if c.session.Late(last, c.watermark) {
		fmt.Fprintf(&c.out, "at %s: (%s, %s) is late for %s\n", c.time(c.watermark), key, c.time(ts), c.show(span))
		return
	}
	c.open = slices.DeleteFunc(c.open, touched)
	c.add(key, span, n)
}

func (c *counter) add(key string, span window.Span, n int) {
	for i, o := range c.open {
		if o.key == key && o.span == span {
			c.open[i].n += n
			return
		}
	}
	c.open = append(c.open, count{key, span, n})
}

// close gives out the counts of all windows that the watermark has reached, in the order of their ends.
func (c *counter) close() {
	slices.SortStableFunc(c.open, func(a, b count) int { return cmp.Compare(a.span.EndMs(), b.span.EndMs()) })
	c.open = slices.DeleteFunc(c.open, func(o count) bool {
		closesAt := c.fixed.ClosesAt(o.span.StartMs())
		if c.sessions {
			closesAt = c.session.ClosesAt(o.span.EndMs() - 1)
		}
		if closesAt > c.watermark {
			return false
		}
		fmt.Fprintf(&c.out, "at %s: %s %s = %d\n", c.time(c.watermark), o.key, c.show(o.span), o.n)
		return true
	})
}

func (c *counter) time(ts int64) string {
	if c.utc {
		return time.UnixMilli(ts).UTC().Format("2006-01-02T15:04:05.999Z07:00")
	}
	return strconv.FormatInt(ts, 10)
}

// show writes a window as the reader knows it: [start, end), and a session as [first, last].
func (c *counter) show(s window.Span) string {
	if c.sessions {
		return "[" + c.time(s.StartMs()) + ", " + c.time(s.EndMs()-1) + "]"
	}
	return "[" + c.time(s.StartMs()) + ", " + c.time(s.EndMs()) + ")"
}
