package worker

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// A purger deletes what is not needed any more from internal topics: records of
// repartition topics behind the committed offset, and the heads of changelogs
// whose rows are all closed.
type purger struct {
	last    time.Time
	flying  atomic.Bool
	deleted map[string]map[int32]int64
}

// PurgeEvery is how often records are deleted, unless Config says otherwise.
const PurgeEvery = 10 * time.Second

// purge asks the brokers to delete, in the background. It is called right after
// a commit: what it reads of the tasks is committed.
func (w *Worker) purge() {
	p := &w.purged
	if time.Since(p.last) < cmp.Or(w.cfg.PurgeEvery, PurgeEvery) || !p.flying.CompareAndSwap(false, true) {
		return
	}
	p.last = time.Now()
	if p.deleted == nil {
		p.deleted = map[string]map[int32]int64{}
	}
	before := kadm.Offsets{}
	add := func(topic string, partition int32, at int64) {
		if at > p.deleted[topic][partition] {
			before.AddOffset(topic, partition, at, -1)
		}
	}
	for _, t := range w.running {
		for _, in := range t.InputList() {
			if in.Internal {
				add(in.Topic, in.Partition, in.Position())
			}
		}
		t.NeededFrom(func(topic string, from int64) { add(topic, t.ID.Partition, from) })
	}
	go func() {
		defer p.flying.Store(false)
		if len(before) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		done, err := w.cfg.Admin.DeleteRecords(ctx, before)
		if err != nil {
			w.cfg.Log.Warn("records of internal topics that are not needed any more could not be deleted; trying again later", "error", err)
			return
		}
		done.Each(func(r kadm.DeleteRecordsResponse) {
			if r.Err != nil {
				return
			}
			if p.deleted[r.Topic] == nil {
				p.deleted[r.Topic] = map[int32]int64{}
			}
			p.deleted[r.Topic][r.Partition] = r.LowWatermark
		})
	}()
}
