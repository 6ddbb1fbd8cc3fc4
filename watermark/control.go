package watermark

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Progress is what one task upstream of a repartition topic says about its event time.
type Progress struct {
	Task      int32 // number of the upstream task, in [0, Tasks)
	Tasks     int32 // number of tasks that its sub-topology has
	Watermark int64 // milliseconds since the epoch, None or Infinite
	Idle      bool  // all inputs of the task are idle, and its time does not run on with the clock
}

// A control record is
//
//	version (1), uvarint number of entries, entries
//
// and an entry is
//
//	uvarint task, uvarint tasks, flags, varint watermark
//
// where the watermark is left out if the flags say that there is none. There is one encoding for each list of entries.
const (
	controlVersion = 1

	flagIdle = 1 << 0
	flagNone = 1 << 1
	minEntry = 3 // bytes of the shortest entry
)

// AppendControl appends the control record that a worker writes to one partition of a repartition topic: an entry for
// each of its upstream tasks. Entries that break the rules of [Progress] are written, and refused by [ParseControl].
func AppendControl(dst []byte, ps []Progress) []byte {
	dst = append(dst, controlVersion)
	dst = binary.AppendUvarint(dst, uint64(len(ps)))
	for _, p := range ps {
		dst = binary.AppendUvarint(dst, uint64(uint32(p.Task)))
		dst = binary.AppendUvarint(dst, uint64(uint32(p.Tasks)))
		var flags byte
		if p.Idle {
			flags |= flagIdle
		}
		if p.Watermark == None {
			dst = append(dst, flags|flagNone)
			continue
		}
		dst = append(dst, flags)
		dst = binary.AppendVarint(dst, p.Watermark)
	}
	return dst
}

// ParseControl reads a control record. It accepts exactly what [AppendControl] writes for valid entries; anything else,
// a single byte more or less included, is an error, since a wrong watermark loses records.
func ParseControl(b []byte) ([]Progress, error) {
	if len(b) == 0 {
		return nil, errors.New("watermark: control record is empty")
	}
	if b[0] != controlVersion {
		return nil, fmt.Errorf("watermark: control record has version %d, this program reads version %d; "+
			"a newer release wrote to this topic", b[0], controlVersion)
	}
	r := reader{b: b[1:]}
	n := r.uvarint()
	if n > uint64(len(r.b)/minEntry) {
		return nil, fmt.Errorf("watermark: control record of %d bytes claims %d entries", len(b), n)
	}
	ps := make([]Progress, n)
	for i := range ps {
		if err := r.progress(&ps[i]); err != nil {
			return nil, fmt.Errorf("watermark: control record of %d bytes, entry %d: %w", len(b), i, err)
		}
	}
	if r.bad {
		return nil, fmt.Errorf("watermark: control record of %d bytes: %w", len(b), errMalformed)
	}
	if len(r.b) > 0 {
		return nil, fmt.Errorf("watermark: control record of %d bytes ends with %d bytes that belong to no entry", len(b), len(r.b))
	}
	return ps, nil
}

// progress reads one entry.
func (r *reader) progress(p *Progress) error {
	task, tasks, flags := r.uvarint(), r.uvarint(), r.byte()
	p.Watermark = None
	if flags&flagNone == 0 {
		p.Watermark = r.varint()
		if p.Watermark == None {
			r.bad = true // there is a flag for that
		}
	}
	switch {
	case r.bad:
		return errMalformed
	case flags > flagIdle|flagNone:
		return fmt.Errorf("unknown flags %#x", flags)
	case tasks > math.MaxInt32 || task >= tasks:
		return fmt.Errorf("task %d of %d", task, tasks)
	}
	p.Task, p.Tasks, p.Idle = int32(task), int32(tasks), flags&flagIdle != 0
	return nil
}
