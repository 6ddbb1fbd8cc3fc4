package watermark_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/watermark"
)

// TestTranscripts runs the files of testdata: each line of input is one event, and its line of output is what the state
// machine under test says after it. The directive of a block makes a new machine.
func TestTranscripts(t *testing.T) {
	machines := map[string]func(*testing.T, *datadriven.TestData) func(event) string{
		"partition": newPartitionScript,
		"task":      newTaskScript,
		"upstreams": newUpstreamsScript,
		"idleness":  newIdlenessScript,
	}
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			newMachine := machines[d.Cmd]
			require.NotNil(t, newMachine, "%s: %s", d.Pos, d.Cmd)
			step := newMachine(t, d)
			var out strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				fmt.Fprintf(&out, "%-34s | %s\n", line, step(event{t, strings.Fields(line)}))
			}
			return out.String()
		})
	})
}

// event is one line of input, in words.
type event struct {
	t     *testing.T
	words []string
}

// has reports whether the line has the word.
func (e event) has(word string) bool {
	for _, w := range e.words {
		if w == word {
			return true
		}
	}
	return false
}

// after returns the time that follows the word.
func (e event) after(word string) int64 {
	for i, w := range e.words[:len(e.words)-1] {
		if w == word {
			return parseMark(e.t, e.words[i+1])
		}
	}
	e.t.Fatalf("no %q in %q", word, e.words)
	return 0
}

func parseMark(t *testing.T, text string) int64 {
	switch text {
	case "none":
		return watermark.None
	case "infinite":
		return watermark.Infinite
	}
	v, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return v
}

func showMark(w int64) string {
	switch w {
	case watermark.None:
		return "none"
	case watermark.Infinite:
		return "infinite"
	}
	return strconv.FormatInt(w, 10)
}

// arg returns the time of an argument of the directive, or the default.
func arg(t *testing.T, d *datadriven.TestData, key string, def int64) int64 {
	text := strconv.FormatInt(def, 10)
	d.MaybeScanArgs(t, key, &text)
	return parseMark(t, text)
}

// newPartitionScript: "record T", "record T at NOW" and "restore W".
func newPartitionScript(t *testing.T, d *datadriven.TestData) func(event) string {
	s := watermark.Bounded(time.Duration(arg(t, d, "bound", 0)) * ms).MaxAhead(time.Duration(arg(t, d, "max-ahead", 0)) * ms)
	p := watermark.NewPartition(s, arg(t, d, "committed", watermark.None))
	return func(e event) string {
		if e.has("restore") {
			p.Restore(e.after("restore"))
			return "watermark " + showMark(p.Watermark())
		}
		ts := e.after("record")
		if e.has("at") && p.TooFarAhead(ts, e.after("at")) {
			return "too far ahead, watermark " + showMark(p.Watermark())
		}
		carries := showMark(p.Watermark())
		p.Observe(ts)
		return fmt.Sprintf("carries %s, watermark %s", carries, showMark(p.Watermark()))
	}
}

// newTaskScript: "input I at W", "input I idle", "input I active" and "advance W".
func newTaskScript(t *testing.T, d *datadriven.TestData) func(event) string {
	m := watermark.NewMerge(int(arg(t, d, "inputs", 1)), arg(t, d, "committed", watermark.None))
	return func(e event) string {
		if e.has("advance") {
			m.Advance(e.after("advance"))
		} else {
			switch i := int(e.after("input")); {
			case e.has("idle"):
				m.SetIdle(i, true)
			case e.has("active"):
				m.SetIdle(i, false)
			default:
				m.Set(i, e.after("at"))
			}
		}
		if m.Idle() {
			return fmt.Sprintf("watermark %s, all idle", showMark(m.Watermark()))
		}
		return fmt.Sprintf("watermark %s, held by %d", showMark(m.Watermark()), m.Holder())
	}
}

// newUpstreamsScript: "task I of N at W", followed by "idle" or nothing.
func newUpstreamsScript(t *testing.T, d *datadriven.TestData) func(event) string {
	u := watermark.NewUpstreams(int(arg(t, d, "tasks", 1)), arg(t, d, "floor", watermark.None))
	return func(e event) string {
		p := watermark.Progress{Task: int32(e.after("task")), Tasks: int32(e.after("of")), Watermark: e.after("at"), Idle: e.has("idle")}
		if err := u.Hear(p); err != nil {
			return "error: " + err.Error()
		}
		if u.Idle() {
			return fmt.Sprintf("watermark %s, all idle", showMark(u.Watermark()))
		}
		task, heard := u.Holder()
		return fmt.Sprintf("watermark %s, held by %d%s", showMark(u.Watermark()), task, map[bool]string{false: " (not heard)"}[heard])
	}
}

// newIdlenessScript: "now T position P", followed by "records", "paused" or nothing, and "answer E sent T position P".
func newIdlenessScript(t *testing.T, d *datadriven.TestData) func(event) string {
	s := watermark.Bounded(0).Idle(time.Duration(arg(t, d, "timeout", 0)) * ms)
	idleness := watermark.NewIdleness(s, arg(t, d, "now", 0))
	return func(e event) string {
		verdict := map[bool]string{false: "active", true: "idle"}
		if e.has("answer") {
			says := idleness.Answer(e.after("sent"), e.after("answer"), e.after("position"))
			require.Equal(t, idleness.Idle(), says)
			return verdict[says]
		}
		ask := idleness.Observe(e.after("now"), e.after("position"), e.has("records"), e.has("paused"))
		return verdict[idleness.Idle()] + map[bool]string{true: ", ask"}[ask]
	}
}
