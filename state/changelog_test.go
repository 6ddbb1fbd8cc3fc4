package state

import (
	"bytes"
	"math/rand/v2"
)

// A record is a committed record of a changelog.
type record struct {
	offset int64
	Change
}

// A fakeLog is one partition of a changelog: committed records with gaps
// between them, where markers, aborted and compacted records were.
type fakeLog struct {
	r          *rand.Rand
	open       []Change // of the open transaction
	records    []record // what a reader gets
	history    []record // every committed record, for audits
	start, end int64
	compacted  bool
}

// Append implements Changelog.
func (l *fakeLog) Append(key string, value []byte, _ int64) {
	l.open = append(l.open, Change{Key: string([]byte(key)), Value: bytes.Clone(value)})
}

func (l *fakeLog) commit() int64 {
	for _, c := range l.open {
		rec := record{l.end, c}
		l.records, l.history = append(l.records, rec), append(l.history, rec)
		l.end++
	}
	if len(l.open) > 0 || l.r.IntN(4) == 0 {
		l.end += 1 + l.r.Int64N(3) // the marker, and others' aborted records
	}
	l.open = nil
	return l.end
}

func (l *fakeLog) abort() {
	if len(l.open) > 0 {
		l.end += int64(len(l.open)) + 1
	}
	l.open = nil
}

// compact removes some records that later ones supersede.
func (l *fakeLog) compact() {
	l.compacted = true
	latest := map[string]int64{}
	for _, rec := range l.records {
		latest[rec.Key] = rec.offset
	}
	kept := l.records[:0:0]
	for _, rec := range l.records {
		if latest[rec.Key] == rec.offset || l.r.IntN(2) == 0 {
			kept = append(kept, rec)
		}
	}
	l.records = kept
}

// cut deletes the records before an offset.
func (l *fakeLog) cut(before int64) {
	l.start = max(l.start, before)
	kept := l.records[:0:0]
	for _, rec := range l.records {
		if rec.offset >= l.start {
			kept = append(kept, rec)
		}
	}
	l.records = kept
}

// fold returns the rows that result from the records of [from, to).
func fold(records []record, from, to int64) map[string][]byte {
	rows := map[string][]byte{}
	for _, rec := range records {
		if rec.offset < from || rec.offset >= to {
			continue
		}
		if delete(rows, rec.Key); rec.Value != nil {
			rows[rec.Key] = rec.Value
		}
	}
	return rows
}
