package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/state"
)

// A Store is a store of an application, as it is audited.
type Store struct {
	state.Descriptor
	Sub       int32  // the sub-topology
	Changelog string // its topic
	// Closes is the watermark, in terms of the operator's input, at which a row is
	// closed whose window has that start, or session that last time: ClosesAt of
	// its window.Fixed or window.Session. Nil if rows are never closed.
	Closes func(at int64) int64
	Hold   int64 // how far the operator's input is behind the task's watermark, ms
}

// Stores lists the stores of a plan. closes gives Closes by the store's name.
func Stores(p *graph.Plan, closes map[string]func(int64) int64) (list []Store) {
	for _, sub := range p.Subs {
		for _, n := range sub.Stores {
			list = append(list, Store{
				Descriptor: *n.Store, Sub: sub.ID, Changelog: p.ChangelogTopic(n), Closes: closes[n.Name], Hold: sub.Holds[n.ID],
			})
		}
	}
	return list
}

// An Audit is what an instance's state is compared with: changelogs and
// committed offsets, read when nothing changes them.
type Audit struct {
	Stores []Store
	Logs   map[string][]Log // by changelog topic
	Fired  map[int32][]checkpoint.Meta
}

// NewAudit reads what Check and Rows need. The application must be stopped, and
// its transactions settled.
func NewAudit(ctx context.Context, r *Reader, p *graph.Plan, closes map[string]func(int64) int64) (*Audit, error) {
	a := &Audit{Stores: Stores(p, closes), Logs: map[string][]Log{}, Fired: map[int32][]checkpoint.Meta{}}
	for _, s := range a.Stores {
		if err := r.Settle(ctx, s.Changelog); err != nil {
			return nil, err
		}
		logs, err := r.Topic(ctx, s.Changelog)
		if err != nil {
			return nil, err
		}
		a.Logs[s.Changelog] = logs
	}
	offsets, err := r.Offsets(ctx, p.App)
	if err != nil {
		return nil, err
	}
	for _, s := range a.Stores {
		metas := make([]checkpoint.Meta, len(a.Logs[s.Changelog]))
		for i := range metas {
			metas[i] = checkpoint.NoMeta
			for _, n := range p.Subs[s.Sub].Sources {
				o, ok := offsets[p.TopicOf(n)][int32(i)]
				if !ok {
					continue
				}
				metas[i].Fired = max(metas[i].Fired, o.Meta.Fired)
				metas[i].Stores = append(metas[i].Stores, o.Meta.Stores...)
			}
		}
		a.Fired[s.Sub] = metas
	}
	return a, nil
}

// closed tells closed rows of a store's partition.
func (a *Audit) closed(s Store, partition int32) func(key string, row []byte) bool {
	if s.Closes == nil {
		return func(string, []byte) bool { return false }
	}
	meta := a.Fired[s.Sub][partition]
	closed, after := meta.Fired, ""
	if closed > math.MinInt64+s.Hold && closed != math.MaxInt64 {
		closed -= s.Hold
	}
	for _, p := range meta.Stores {
		if p.Store == s.Name {
			closed, after = p.Closed, p.After
		}
	}
	return func(key string, row []byte) bool {
		if s.Kind == "session" {
			r, err := DecodeRow(s.Kind, key, row)
			order := string(binary.BigEndian.AppendUint64(nil, uint64(r.Last)^1<<63)) + key
			return err == nil && (s.Closes(r.Last) <= closed || after != "" && order <= after)
		}
		start := int64(binary.BigEndian.Uint64([]byte(key)[:8]) ^ 1<<63)
		return s.Closes(start) <= closed || after != "" && key <= after
	}
}

// fold is what a changelog's committed records up to an offset amount to.
func fold(records []*kgo.Record, end int64) map[string][]byte {
	rows := map[string][]byte{}
	for _, rec := range records {
		switch {
		case rec.Offset >= end:
		case rec.Value == nil:
			delete(rows, string(rec.Key))
		default:
			rows[string(rec.Key)] = rec.Value
		}
	}
	return rows
}

// Rows is what the changelog says that a store holds in a partition: open rows
// only, as the changelog has them.
func (a *Audit) Rows(s Store, partition int32) map[string][]byte {
	l := a.Logs[s.Changelog][partition]
	rows, closed := fold(l.Records, l.End), a.closed(s, partition)
	maps.DeleteFunc(rows, closed)
	return rows
}

// Found is what an audit has seen.
type Found struct {
	Partitions int   // that had rows or a position
	Rows       int   // in Pebble
	Behind     int64 // offsets between positions and the ends of changelogs
}

// Check audits the database of one instance: in every partition of every store,
// each row is the committed value of its key at some offset from the position
// on, and with the rest of the changelog the rows are what Rows says.
func (a *Audit) Check(db *state.DB) (f Found, err error) {
	var errs []error
	for _, s := range a.Stores {
		for p := range int32(len(a.Logs[s.Changelog])) {
			part, err := db.Lease(s.Descriptor, p)
			if err != nil {
				return f, err
			}
			if err := a.partition(s, part, &f); err != nil {
				errs = append(errs, fmt.Errorf("store %s, partition %d: %w", s.Name, p, err))
			}
			part.Release()
		}
	}
	return f, errors.Join(errs...)
}

func (a *Audit) partition(s Store, part *state.Partition, f *Found) error {
	pos, ok, err := part.Position()
	if err != nil {
		return err
	}
	rows := map[string][]byte{}
	err = part.Rows(func(key, row []byte) error { rows[string(key)] = bytes.Clone(row); return nil })
	if err != nil {
		return err
	}
	l := a.Logs[s.Changelog][part.Number()]
	if ok || len(rows) > 0 {
		f.Partitions++
		f.Rows += len(rows)
		f.Behind += l.End - pos.Offset
	}
	if !ok { // such rows are cleared before they are used
		pos.Offset = 0
	}
	if pos.Offset > l.End {
		return fmt.Errorf("position %d is past the changelog's end, %d", pos.Offset, l.End)
	}
	if pos.Offset < l.Start {
		return nil // it will be rebuilt
	}
	return errors.Join(possible(rows, l, pos.Offset, a.closed(s, part.Number())), a.replayed(s, part.Number(), rows, pos.Offset))
}

// possible checks that each row is what it was at the position or became later.
func possible(rows map[string][]byte, l Log, position int64, closed func(string, []byte) bool) error {
	then := fold(l.Records, position)
	ever, later := map[string][][]byte{}, map[string][][]byte{}
	for _, rec := range l.Records {
		k := string(rec.Key)
		ever[k] = append(ever[k], rec.Value)
		if rec.Offset >= position {
			later[k] = append(later[k], rec.Value)
		}
	}
	is := func(row []byte) func([]byte) bool {
		return func(v []byte) bool { return v != nil && bytes.Equal(v, row) }
	}
	var errs []error
	for k, row := range rows {
		if was, ok := then[k]; ok && bytes.Equal(was, row) || slices.ContainsFunc(later[k], is(row)) {
			continue
		}
		if l.Start > 0 && closed(k, row) {
			continue // its records may have been deleted
		}
		if !slices.ContainsFunc(ever[k], is(row)) {
			errs = append(errs, fmt.Errorf("position %d of [%d..%d): row %q holds %q, which was never committed; the key was ever %q",
				position, l.Start, l.End, k, row, ever[k]))
		} else if !closed(k, row) {
			errs = append(errs, fmt.Errorf("position %d: row %q holds %q, which is older; then %q, since %q", position, k, row, then[k], later[k]))
		}
	}
	for k, was := range then {
		if _, ok := rows[k]; !ok && !closed(k, was) && !slices.ContainsFunc(later[k], func(v []byte) bool { return v == nil || closed(k, v) }) {
			errs = append(errs, fmt.Errorf("position %d: row %q is missing; then %q", position, k, was))
		}
	}
	return limited(errs)
}

// replayed checks that the rows and the rest of the changelog are the committed
// state.
func (a *Audit) replayed(s Store, partition int32, rows map[string][]byte, position int64) error {
	l, closed := a.Logs[s.Changelog][partition], a.closed(s, partition)
	now := maps.Clone(rows)
	for _, rec := range l.Records {
		if rec.Offset < position {
			continue
		}
		if rec.Value == nil {
			delete(now, string(rec.Key))
		} else {
			now[string(rec.Key)] = rec.Value
		}
	}
	maps.DeleteFunc(now, closed)
	want := a.Rows(s, partition)
	var errs []error
	for k, v := range want {
		if got, ok := now[k]; !ok || !bytes.Equal(got, v) {
			errs = append(errs, fmt.Errorf("position %d: replayed, row %q holds %q instead of %q", position, k, got, v))
		}
	}
	for k, v := range now {
		if _, ok := want[k]; !ok {
			errs = append(errs, fmt.Errorf("position %d: replayed, there is row %q, %q, which is not committed", position, k, v))
		}
	}
	return limited(errs)
}

// limited joins the first few errors.
func limited(errs []error) error {
	const most = 3
	if n := len(errs); n > most {
		errs = append(errs[:most], fmt.Errorf("and %d more", n-most))
	}
	return errors.Join(errs...)
}

// Aborted is how many records of the changelogs were not committed.
func (a *Audit) Aborted() (n int) {
	for _, logs := range a.Logs {
		for _, l := range logs {
			n += l.Aborted
		}
	}
	return n
}
