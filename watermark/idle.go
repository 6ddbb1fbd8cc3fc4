package watermark

// Idleness decides when one source partition is idle. Silence alone proves nothing: the broker, the network or this
// program may be slow. A partition is idle once a question for its end (ListOffsets, high watermark), sent after the idle
// timeout had run out in silence, was answered with our own position. A record ends it.
//
// The proof is renewed for as long as the partition is idle, and idleness ends too when the answer shows that there is
// something to read, or when no answer comes. A partition that is paused is never idle, and its time of silence begins
// anew when it is resumed.
//
// Positions are offsets: that of the next record to process, where control records, aborted records and compacted tails
// that were passed over count as processed. Times are milliseconds of one clock.
type Idleness struct {
	timeout int64 // ms; 0: never idle
	now     int64 // when Observe was last called
	silent  int64 // since when there has been no record
	sent    int64 // when the last question was sent in this silence, or None
	asked   int64 // when the first question was sent that has no answer yet, or None

	position int64
	grown    bool // the position has moved since the last question
	idle     bool
}

// While a partition stays silent, a question is sent one timeout after the last, but within these bounds in milliseconds.
// The lower one also holds for questions that are sent early.
const (
	askSoonest = 100
	askLatest  = 5000
)

// NewIdleness returns the state of a partition that is taken up at nowMs.
func NewIdleness(s Strategy, nowMs int64) *Idleness {
	d := &Idleness{timeout: s.IdleMs()}
	d.restart(nowMs)
	return d
}

// restart begins a new time of silence. Questions that are out are forgotten: they were sent before it has run out.
func (d *Idleness) restart(nowMs int64) {
	d.now, d.silent, d.sent, d.asked, d.grown, d.idle = nowMs, nowMs, None, None, false, false
}

// Observe tells where the partition stands at nowMs: the position reached, whether there were records since the last
// call, and whether it is paused. It reports whether a question for the partition's end is to be sent now; the answer
// goes to [Idleness.Answer]. Call it after every poll, and a few times in every timeout.
func (d *Idleness) Observe(nowMs, position int64, gotRecords, paused bool) (send bool) {
	if d.timeout == 0 {
		return false
	}
	d.grown = d.grown || position != d.position
	d.position = position
	if gotRecords || paused || nowMs < d.now { // a clock that was put back has measured nothing
		d.restart(nowMs)
		return false
	}
	d.now = nowMs
	if d.asked != None && nowMs >= satAdd(d.asked, d.interval()) {
		d.idle = false
	}
	if nowMs < d.due() {
		return false
	}
	if d.asked == None {
		d.asked = nowMs
	}
	d.sent, d.grown = nowMs, false
	return true
}

// due returns when to ask next.
func (d *Idleness) due() int64 {
	switch {
	case d.sent == None:
		return satAdd(d.silent, d.timeout)
	case d.grown: // if only by control records: the last answer, whatever it was, is out of date
		return satAdd(d.sent, askSoonest)
	default:
		return satAdd(d.sent, d.interval())
	}
}

// interval returns the time between two questions.
func (d *Idleness) interval() int64 {
	return min(max(d.timeout, askSoonest), askLatest)
}

// Answer takes the answer to a question into account: when the question was sent, read from the clock no later than that,
// the partition's end, and the position reached by now. It reports whether the partition is idle. Answers may be late or
// in another order than the questions. A question that failed has no answer; another is sent in time.
func (d *Idleness) Answer(sentAtMs, endOffset, position int64) bool {
	if d.asked == None || sentAtMs < d.asked {
		return d.idle
	}
	d.asked = None
	d.idle = endOffset == position && position == d.position // where it moved meanwhile, it may have been by records
	return d.idle
}

// Idle reports whether the partition was proved to be idle, and nothing has happened since that puts it in doubt.
func (d *Idleness) Idle() bool {
	return d.idle
}
