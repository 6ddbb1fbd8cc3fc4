package state

import (
	"bytes"
	"errors"
	"fmt"
	"math"
)

// audit checks what Pebble holds: each row is what it was at the position, or
// at a committed offset after it; or it is closed.
func (h *harness) audit() error {
	pos, ok, err := h.part.Position()
	if err != nil {
		return err
	}
	if !ok {
		pos.Offset = 0
	}
	if pos.Offset > h.log.end {
		return fmt.Errorf("position %d is past the log's end %d", pos.Offset, h.log.end)
	}
	if pos.Offset < h.log.start {
		return nil // to be rebuilt
	}
	rows, err := rowsOf(h.part)
	if err != nil {
		return err
	}
	allowed, ever, later := map[string][][]byte{}, map[string][][]byte{}, map[string]bool{}
	for k, v := range fold(h.log.history, 0, pos.Offset) {
		allowed[k] = append(allowed[k], v)
	}
	for _, rec := range h.log.history {
		if ever[rec.Key] = append(ever[rec.Key], rec.Value); rec.offset < pos.Offset {
			continue
		}
		if len(allowed[rec.Key]) == 0 {
			allowed[rec.Key] = [][]byte{nil}
		}
		allowed[rec.Key] = append(allowed[rec.Key], rec.Value)
		later[rec.Key] = true
	}
	if h.log.compacted { // what a later record supersedes may never have been read
		for k := range later {
			allowed[k] = append(append(allowed[k], ever[k]...), nil)
		}
	}
	for k, v := range rows {
		if !h.plausible(k, v, allowed[k], ever[k]) {
			return fmt.Errorf("position %d: row %q holds %q, which it may not, allowed %q", pos.Offset, k, v, allowed[k])
		}
	}
	for k, vs := range allowed {
		if _, ok := rows[k]; !ok && !h.plausible(k, nil, vs, ever[k]) {
			return fmt.Errorf("position %d: row %q is not there, allowed %q", pos.Offset, k, vs)
		}
	}
	return nil
}

func (h *harness) plausible(key string, value []byte, allowed, ever [][]byte) bool {
	for _, v := range allowed {
		if bytes.Equal(v, value) && (v == nil) == (value == nil) || value == nil && v != nil && h.s.closed(key, v, h.at) {
			return true
		}
	}
	if value == nil || !h.s.closed(key, value, h.at) {
		return false
	}
	for _, v := range ever {
		if v != nil && bytes.Equal(v, value) {
			return true
		}
	}
	return false
}

// auditOpened checks that Pebble holds the committed rows, and none that are
// closed, once a store has been restored and opened.
func (h *harness) auditOpened() error {
	rows, err := rowsOf(h.part)
	if err != nil {
		return err
	}
	for k, v := range rows {
		if h.s.closed(k, v, h.at) && h.at.After == "" {
			return fmt.Errorf("closed row %q is still in Pebble: %q", k, v)
		}
	}
	return h.sameOpen(rows)
}

// end closes everything, commits and writes: nothing may be left in Pebble or
// in the cache's books.
func (h *harness) end() error {
	if h.s.kind() != "key-value" {
		for to := int64(math.MinInt64); h.s.closing() || h.s.watermark() < to || to == math.MinInt64; {
			if !h.s.closing() {
				to = h.s.watermark() + 10_000
			}
			if err := h.advanceTo(to); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(h.commit(), h.check()); err != nil {
		return err
	}
	for range 3 {
		if _, err := h.s.core().WriteBehind(h.commits, math.MaxInt); err != nil {
			return err
		}
	}
	if n := h.s.core().Unwritten(); n != 0 {
		return fmt.Errorf("%d rows are not written", n)
	}
	pos, _, err := h.part.Position()
	if err == nil && pos.Offset != h.log.end {
		err = fmt.Errorf("everything is written, but the position is %d of %d", pos.Offset, h.log.end)
	}
	rows, err2 := rowsOf(h.part)
	if err := errors.Join(err, err2, h.sameOpen(rows), h.check()); err != nil {
		return err
	}
	if h.s.kind() == "key-value" {
		return nil
	}
	hints := 0
	err = h.part.scan(indexKind, "", "", func(_, _ []byte) (bool, error) { hints++; return true, nil })
	if w := h.s.core(); len(rows) > 0 || hints > 0 || w.Bytes() != 0 {
		return fmt.Errorf("all is closed, but %d rows, %d hints and %d cached bytes are left", len(rows), hints, w.Bytes())
	}
	return err
}
