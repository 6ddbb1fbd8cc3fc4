package state

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/serde"
)

var (
	seedFlag  = flag.Uint64("seed", 1, "the first seed of the random tests of stores")
	casesFlag = flag.Int("cases", 0, "how many seeds to try; 0 for the test's own number")
)

// A harness drives one store through commits, aborts, crashes and restores.
type harness struct {
	seed  uint64
	r     *rand.Rand
	fs    *vfs.MemFS
	db    *DB
	part  *Partition
	log   *fakeLog
	s     subject
	trace []string

	compacts bool // the changelog is compacted now and then
	commits  int64
	at       Progress // of the last commit
	clean    bool     // nothing has happened since the last commit
	seen     map[string]int
}

func newHarness(seed uint64, s subject, seen map[string]int) (*harness, error) {
	r := rand.New(rand.NewPCG(seed, 7))
	h := &harness{
		seed: seed, r: r, fs: vfs.NewCrashableMem(), log: &fakeLog{r: r}, s: s, seen: seen,
		at: Progress{Closed: math.MinInt64}, compacts: seed%3 == 0,
	}
	return h, h.openDB()
}

func (h *harness) note(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

// openDB opens the database on the present file system, and the store.
func (h *harness) openDB() (err error) {
	h.db, err = Open(Options{Dir: "state", FS: h.fs, MemoryLimit: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return h.openStore()
}

// openStore leases the partition, restores it and opens the store.
func (h *harness) openStore() (err error) {
	desc := Descriptor{Name: "store", Kind: h.s.kind(), Key: "bytes", Value: serde.Describe(serde.String)}
	if h.part, err = h.db.Lease(desc, 3); err != nil {
		return err
	}
	if err := h.audit(); err != nil {
		return fmt.Errorf("before the restore: %w", err)
	}
	if err := h.restore(); err != nil {
		return err
	}
	if err := h.audit(); err != nil {
		return fmt.Errorf("after the restore: %w", err)
	}
	if err := h.s.open(h.part, h.log, h.at); err != nil {
		return err
	}
	if err := h.auditOpened(); err != nil {
		return fmt.Errorf("after opening: %w", err)
	}
	h.clean = true
	return nil
}

// restore replays the changelog from the recorded position on, or all of it if
// its head is gone.
func (h *harness) restore() error {
	pos, ok, err := h.part.Position()
	if err != nil {
		return err
	}
	if !ok || pos.Offset < h.log.start {
		h.note("rebuild from %d (position %v %v)", h.log.start, pos, ok)
		h.seen["rebuilt"]++
		if err := h.part.Clear(); err != nil {
			return err
		}
		pos = Position{Offset: h.log.start}
	}
	h.note("restore from %d to %d", pos.Offset, h.log.end)
	var chunk []Change
	for _, rec := range h.log.records {
		if rec.offset < pos.Offset {
			continue
		}
		if chunk = append(chunk, rec.Change); h.r.IntN(4) == 0 {
			if err := h.part.Restore(chunk, Position{Offset: rec.offset + 1, Wall: 1}, h.s.kind() == "session"); err != nil {
				return err
			}
			h.seen["replayed"] += len(chunk)
			chunk = nil
			if h.r.IntN(8) == 0 {
				if err := h.db.Checkpoint(); err != nil {
					return err
				}
			}
		}
	}
	return h.part.Restore(chunk, Position{Offset: h.log.end, Wall: h.commits}, h.s.kind() == "session")
}

// step does one random thing, and checks everything that must hold after it.
// One seed in four has many faults, the others few, so that stores grow old.
func (h *harness) step() error {
	faults := 1
	if h.seed%4 == 0 {
		faults = 5
	}
	var err error
	switch n := h.r.IntN(100); {
	case n < faults:
		err = h.abort()
	case n < 2*faults:
		err = h.crash()
	case n < 50:
		if !h.s.closing() {
			h.note("change")
			h.clean = false
			err = h.s.change(h.r)
		}
	case n < 62:
		err = h.advance()
	case n < 64:
		h.note("flush within commit %d", h.commits+1)
		h.clean = false
		err = h.s.flush(h.commits + 1)
	case n < 82:
		if err = h.commit(); err == nil && h.r.IntN(4) > 0 {
			err = h.writeBehind()
		}
	case n < 86:
		err = h.writeBehind()
	case n < 93:
		h.evict()
	case n < 96:
		h.note("checkpoint")
		err = h.db.Checkpoint()
	case n < 97:
		if h.compacts {
			h.log.compact()
		}
	default:
		err = h.cut()
	}
	if err != nil {
		return err
	}
	return h.check()
}

func (h *harness) check() error {
	if err := h.s.verify(); err != nil {
		return err
	}
	w := h.s.core()
	if cached := h.s.cached(); w.Bytes() != cached {
		return fmt.Errorf("the cache says it takes %d bytes; counted anew it is %d", w.Bytes(), cached)
	}
	return nil
}

func (h *harness) advance() error {
	if h.s.kind() == "key-value" {
		return nil
	}
	to := int64(math.MaxInt64)
	if h.s.watermark() < to && h.r.IntN(40) > 0 {
		to = h.s.watermark() + h.r.Int64N(40)
	}
	return h.advanceTo(to)
}

func (h *harness) advanceTo(to int64) error {
	h.note("advance to %d", to)
	h.clean = false
	if err := h.s.advance(h.r, to); err != nil {
		return err
	}
	if h.s.closing() {
		h.seen["interrupted"]++
	}
	if !h.s.over() {
		return nil
	}
	h.note("the run is over: another follows")
	h.seen["run again"]++
	if err := h.commit(); err != nil {
		return err
	}
	h.part.Release()
	return h.openStore()
}

func (h *harness) commit() error {
	h.commits++
	if err := h.s.flush(h.commits); err != nil {
		return err
	}
	end := h.log.commit()
	h.s.Committed(h.commits, Position{Offset: end, Wall: h.commits})
	h.at = h.s.progress()
	h.s.save()
	h.clean = true
	h.note("commit %d to offset %d, progress %d %q", h.commits, end, h.at.Closed, h.at.After)
	if h.s.closing() {
		h.seen["committed while closing"]++
	}
	return h.headNotNeeded()
}

// headNotNeeded checks that the log from NeededFrom on gives the same rows.
func (h *harness) headNotNeeded() error {
	if h.s.kind() == "key-value" {
		return nil
	}
	from := h.s.core().NeededFrom(h.at.Closed)
	if from > 0 {
		h.seen["head not needed"]++
	}
	rows := fold(h.log.records, from, h.log.end)
	if err := h.sameOpen(rows); err != nil {
		return fmt.Errorf("with the log from offset %d on only: %w", from, err)
	}
	return nil
}

// sameOpen compares the open ones of some rows with the committed model.
func (h *harness) sameOpen(rows map[string][]byte) error {
	want := h.s.expected()
	for k, v := range rows {
		if h.s.closed(k, v, h.at) || h.s.kind() == "session" && k[len(k)-8:] == sortable(math.MinInt64) {
			continue
		}
		got, err := h.describe(k, v)
		if err != nil {
			return err
		}
		if want[k] != got {
			return fmt.Errorf("row %q is %s, want %s", k, got, want[k])
		}
		delete(want, k)
	}
	for k, v := range want {
		return fmt.Errorf("row %q is missing: %s", k, v)
	}
	return h.s.besides(rows, h.at)
}

func (h *harness) describe(key string, value []byte) (string, error) {
	r := &Row[string]{key: key}
	switch h.s.kind() {
	case "window":
		r.Start = fromSortable([]byte(key))
	case "session":
		r.Start = fromSortable([]byte(key[len(key)-8:]))
	}
	err := decodeRow(value, r, serde.String)
	return described(r), err
}

func (h *harness) writeBehind() error {
	if !h.clean {
		return nil
	}
	due, limit := h.commits-h.r.Int64N(6), h.r.IntN(6)
	if h.r.IntN(4) == 0 {
		due, limit = h.commits, math.MaxInt
	}
	n, err := h.s.core().WriteBehind(due, limit)
	h.note("write behind due %d limit %d: %d", due, limit, n)
	h.seen["written"] += n
	if err == nil {
		err = h.audit()
	}
	return err
}

func (h *harness) evict() {
	n := h.r.Int64N(2000)
	if h.r.IntN(4) == 0 {
		n = math.MaxInt64
	}
	freed := h.s.Evict(n)
	h.note("evict %d: %d", n, freed)
	if freed > 0 {
		h.seen["evicted"]++
		if h.s.closing() {
			h.seen["evicted while closing"]++
		}
	}
}

// cut moves the log's start to where rows are still needed.
func (h *harness) cut() error {
	if h.s.kind() == "key-value" || !h.clean {
		return nil
	}
	from := h.s.core().NeededFrom(h.at.Closed)
	if from > h.log.start {
		h.seen["cut"]++
	}
	h.log.cut(from)
	h.note("cut at %d", from)
	return nil
}

// abort drops the open transaction and the store with it.
func (h *harness) abort() error {
	if h.r.IntN(2) == 0 {
		if err := h.s.flush(h.commits + 1); err != nil {
			return err
		}
	}
	h.note("abort")
	h.seen["aborted"]++
	h.commits++ // the number is not used again
	h.log.abort()
	h.s.revert()
	h.part.Release()
	return h.openStore()
}

// crash loses what was not synced, or some of it.
func (h *harness) crash() error {
	percent := [...]int{0, 10, 50, 100}[h.r.IntN(4)]
	clone := h.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(h.r.Uint64(), 3))})
	h.note("crash, %d %% of what was not synced survives", percent)
	h.seen["crashed"]++
	h.log.abort()
	h.s.revert()
	h.part.Release()
	if err := h.db.Close(); err != nil {
		return err
	}
	h.fs = clone
	return h.openDB()
}

// run drives the store through steps, and at the end closes and writes
// everything, so that nothing may be left over.
func (h *harness) run(steps int) error {
	for range steps {
		if err := h.step(); err != nil {
			return err
		}
	}
	if err := h.end(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return h.db.Close()
}

// runSeeds runs cases of a kind of store.
func runSeeds(t *testing.T, cases, steps int, subjects func(seed uint64) subject, must ...string) {
	switch {
	case *casesFlag > 0:
		cases = *casesFlag
	case underRace:
		cases /= 4
	}
	seen := map[string]int{}
	for seed := *seedFlag; seed < *seedFlag+uint64(cases); seed++ {
		s := subjects(seed)
		h, err := newHarness(seed, s, seen)
		if err == nil {
			err = h.run(steps)
		}
		if err != nil {
			for _, line := range h.trace {
				t.Log(line)
			}
			t.Fatalf("seed %d: %v\nagain: go test ./state -run '^%s$' -seed %d -cases 1", seed, err, t.Name(), seed)
		}
		if s, ok := s.(*sessionSubject); ok {
			seen["reached a closed session"] += s.reached
		}
		h.part.Release()
	}
	t.Logf("seeds %d to %d: %v", *seedFlag, *seedFlag+uint64(cases)-1, seen)
	if *casesFlag == 0 {
		for _, what := range append(must, "crashed", "aborted", "rebuilt", "replayed", "written", "evicted") {
			if seen[what] == 0 {
				t.Errorf("nothing was ever %s: the test shows nothing", what)
			}
		}
	}
}

func rowsOf(p *Partition) (map[string][]byte, error) {
	rows := map[string][]byte{}
	err := p.Rows(func(k, v []byte) error {
		rows[string(k)] = append([]byte{}, v...)
		return nil
	})
	return maps.Clone(rows), err
}
