package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/verify"
	"github.com/weirstream/weir/serde"
)

// verify compares everything that the application has left behind with the oracle. It returns an error when it could
// not; differences are violations.
func (g *rig) verify(ctx context.Context, r *verify.Reader, h *healing) error {
	g.report.say("verifying against %d records of input", h.oracle.records)
	g.report.checked("input", h.oracle.records)
	g.committed(ctx, r, h)
	if err := g.outputs(ctx, r, h.oracle); err != nil {
		return err
	}
	return g.audit(ctx, r, h)
}

// committed checks the committed offsets: all input, no more.
func (g *rig) committed(ctx context.Context, r *verify.Reader, h *healing) {
	offsets, err := r.Offsets(ctx, appName)
	if err != nil {
		g.report.violation("%v", err)
		return
	}
	ends, err := r.Admin().ListEndOffsets(ctx, inputName)
	if err != nil {
		g.report.violation("%v", err)
		return
	}
	for p := range int32(partitions) {
		end, _ := ends.Lookup(inputName, p)
		o := offsets[inputName][p]
		if o.Offset != end.Offset || o.Meta.Partition != h.oracle.watermark(p) {
			g.report.violation("%s, partition %d: committed is offset %d with watermark %d, want %d with %d",
				inputName, p, o.Offset, o.Meta.Partition, end.Offset, h.oracle.watermark(p))
		}
	}
	h.offsets = offsets
}

// outputs checks all output topics.
func (g *rig) outputs(ctx context.Context, r *verify.Reader, o *oracle) error {
	aborted := 0
	all := checks(o, g.report.violation)
	for _, topic := range outputs {
		if err := r.Settle(ctx, topic); err != nil {
			return err
		}
		logs, err := r.Topic(ctx, topic)
		if err != nil {
			return err
		}
		n := 0
		for _, l := range logs {
			aborted += l.Aborted
			for _, rec := range l.Records {
				n++
				if err := all[topic].add(rec); err != nil {
					g.report.violation("%v", err)
				}
			}
		}
		all[topic].end()
		g.report.checked(topic, int64(n))
	}
	g.report.aborted(aborted)
	return nil
}

// audit checks the changelogs against the oracle, and against them the state of the last instance, and the states that
// kills left behind.
func (g *rig) audit(ctx context.Context, r *verify.Reader, h *healing) error {
	a := &verify.Audit{Stores: stores, Logs: map[string][]verify.Log{},
		Fired: map[int32][]checkpoint.Meta{storesSub: make([]checkpoint.Meta, partitions)}}
	for _, s := range stores {
		if err := r.Settle(ctx, s.Changelog); err != nil {
			return err
		}
		var err error
		if a.Logs[s.Changelog], err = r.Topic(ctx, s.Changelog); err != nil {
			return err
		}
	}
	for p := range a.Fired[storesSub] {
		a.Fired[storesSub][p] = h.offsets[repartitionName][int32(p)].Meta
	}
	g.folded(a, h.oracle)
	if err := g.final(a, h.last); err != nil {
		return err
	}
	for _, c := range g.audits {
		g.clone(a, c)
	}
	g.report.checked("states after kills", int64(len(g.audits)))
	return nil
}

// folded compares what the changelogs amount to with the oracle.
func (g *rig) folded(a *verify.Audit, o *oracle) {
	_, visits := o.sessions()
	want := map[string]int{visitsStore: len(visits)}
	for _, states := range o.totals {
		want[totalsStore] += min(len(states), 1)
	}
	for p := range o.views {
		if !o.closed(p) {
			want[viewsStore]++
		}
	}
	for _, s := range stores {
		got := 0
		for p := range int32(partitions) {
			for key, row := range a.Rows(s, p) {
				if r, err := verify.DecodeRow(s.Kind, key, row); err == nil && s.Kind == "session" && r.Start == math.MinInt64 {
					continue // it is no session, but says when the key's last one closed
				}
				got++
				if why := o.row(s.Name, s.Kind, key, row, visits); why != "" {
					g.report.violation("%s, partition %d: %s", s.Changelog, p, why)
				}
			}
		}
		if got != want[s.Name] {
			g.report.violation("%s amounts to %d rows, want %d", s.Changelog, got, want[s.Name])
		}
		g.report.checked(s.Changelog, int64(got))
		g.report.live(int64(got))
	}
}

// row says what is wrong with a row of a store.
func (o *oracle) row(store, kind, key string, row []byte, open map[visit]int64) string {
	r, err := verify.DecodeRow(kind, key, row)
	if err != nil {
		return err.Error()
	}
	user, err := userNumber(string(r.Key))
	if err != nil {
		return err.Error()
	}
	if store == totalsStore {
		t, err := totals.Value.Decode(r.Value)
		if err != nil {
			return err.Error()
		}
		if t.N != int64(len(o.totals[user])) {
			return fmt.Sprintf("user %d is at state %d, want %d", user, t.N, len(o.totals[user]))
		}
		return o.state(user, t)
	}
	n, err := serde.Int64.Decode(r.Value)
	if err != nil {
		return err.Error()
	}
	want := o.views[pane{user, r.Start}]
	if store == visitsStore {
		want = open[visit{user, r.Start, r.Last}]
	}
	if n != want {
		return fmt.Sprintf("user %d has %d from %d to %d, want %d", user, n, r.Start, r.Last, want)
	}
	return ""
}

// final checks the state of the instance that was stopped gracefully: nothing is left to be replayed.
func (g *rig) final(a *verify.Audit, s *instance) error {
	db, err := openState(s.dir)
	if err != nil {
		return err
	}
	defer db.Close()
	found, err := a.Check(db)
	if err != nil {
		g.report.violation("the state of %s after its stop: %v", s.name, err)
	}
	g.report.checked("rows in Pebble", int64(found.Rows))
	ranges, err := db.Ranges()
	if err != nil {
		return err
	}
	at := map[place]int64{}
	for _, r := range ranges {
		at[place{changelog(r.Store), r.Partition}] = r.Position.Offset
	}
	for topic, logs := range a.Logs {
		for _, l := range logs {
			if n := len(l.Records); n > 0 && l.Records[n-1].Offset >= at[place{topic, l.Partition}] {
				g.report.violation("%s, partition %d: a graceful stop left the position at %d, short of offset %d",
					topic, l.Partition, at[place{topic, l.Partition}], l.Records[n-1].Offset)
			}
		}
	}
	return nil
}

// clone checks the state that a kill left behind against what was committed at that moment: nothing in it may be
// uncommitted, nothing older than its position. Of windows and sessions the changelogs do not tell that any more: their
// heads have been deleted since.
func (g *rig) clone(a *verify.Audit, c clone) {
	db, err := openState(c.dir)
	if err != nil {
		g.report.violation("the state that the kill of %s left behind: %v", c.process, err)
		return
	}
	defer os.RemoveAll(c.dir)
	defer db.Close()
	topic := changelog(totalsStore)
	then := &verify.Audit{Stores: stores[:1], Fired: a.Fired, Logs: map[string][]verify.Log{}}
	for _, l := range a.Logs[topic] {
		end, _ := c.ends.Lookup(topic, l.Partition)
		l.End, l.Records = end.Offset, before(l.Records, end.Offset)
		then.Logs[topic] = append(then.Logs[topic], l)
	}
	if _, err := then.Check(db); err != nil {
		g.report.violation("the state that the kill of %s left behind: %v", c.process, err)
	}
}

// before returns the records below an offset.
func before(records []*kgo.Record, end int64) []*kgo.Record {
	for n := len(records); n > 0; n-- {
		if records[n-1].Offset < end {
			return records[:n]
		}
	}
	return nil
}
