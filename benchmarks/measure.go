package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kadm"
)

// A run is measured from outside. What it has done is what its group has committed; what it has cost is what the kernel
// says of the process. The first half of the records is not measured: classes are loaded, code is compiled and caches
// fill. The measure begins with the first commit past the half, and ends with the one that covers the last record.

// pollEvery is how often a group's commits are looked at: a tenth of the commit interval.
const pollEvery = commitInterval / 10

// runTimeout is how long a run may take.
const runTimeout = 5 * time.Minute

// measured is what a run's second half took.
type measured struct {
	records int64
	wall    time.Duration
	cpu     time.Duration
	peakMiB int64
}

// A meter watches one process and one consumer group.
type meter struct {
	adm    *kadm.Client
	pid    int
	group  string
	topic  string // whose committed offsets say how far the run has come: the input, or the repartition topic
	input  string
	total  int64
	exited <-chan struct{}
}

// A reading is how far the process has come, and what it has cost so far.
type reading struct {
	at       time.Time
	cpu      time.Duration
	records  int64
	finished bool
}

// measure waits until the run has processed everything.
func (m *meter) measure(ctx context.Context) (measured, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var half, last reading
	for {
		select {
		case <-ctx.Done():
			return measured{}, fmt.Errorf("only %d of %d records were committed: %w", last.records, m.total, ctx.Err())
		case <-m.exited:
			return measured{}, fmt.Errorf("the process ended at %d of %d records", last.records, m.total)
		case <-tick.C:
		}
		r, err := m.read(ctx)
		if err != nil {
			continue // the group may not exist yet; the process may be gone
		}
		last = r
		if half.at.IsZero() && r.records >= m.total/2 {
			half = r
		}
		if r.finished {
			peak, err := peakMiB(m.pid)
			return measured{r.records - half.records, r.at.Sub(half.at), r.cpu - half.cpu, peak}, err
		}
	}
}

// read takes one reading.
func (m *meter) read(ctx context.Context) (r reading, err error) {
	committed, err := m.adm.FetchOffsets(ctx, m.group)
	if err != nil {
		return r, err
	}
	r.at = time.Now()
	if r.cpu, err = processCPU(m.pid); err != nil {
		return r, err
	}
	sum := func(topic string) (n int64) {
		for _, o := range committed[topic] {
			n += max(o.At, 0)
		}
		return n
	}
	r.records = sum(m.topic)
	r.finished = sum(m.input) >= m.total
	if m.topic != m.input && r.finished {
		r.finished, err = m.drained(ctx, committed[m.topic])
		r.records = min(r.records, m.total) // the topic holds transaction markers and the like besides
	}
	return r, err
}

// slack is how many offsets at the end of a repartition topic's partition may be markers and control records, which need
// not be committed. What is measured ends that much early, of millions; what is verified does not.
const slack = 32

// drained reports whether a repartition topic was read to its end.
func (m *meter) drained(ctx context.Context, committed map[int32]kadm.OffsetResponse) (bool, error) {
	ends, err := m.adm.ListCommittedOffsets(ctx, m.topic)
	if err != nil {
		return false, err
	}
	done := true
	ends.Each(func(o kadm.ListedOffset) { done = done && committed[o.Partition].At >= o.Offset-slack })
	return done, ends.Error()
}

// processCPU is the CPU time, user and system, that all threads of a process have taken.
func processCPU(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED of the kernel, exact to the nanosecond
	clock := int32(^pid<<3 | schedClock)
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, errno)
	}
	return time.Duration(ts.Nano()), nil
}

// peakMiB is the most memory that a process has had resident. (What wait4 says of a child includes its parent's.)
func peakMiB(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.Fields(kib)[0], 10, 64)
			return n >> 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmHWM", pid)
}
