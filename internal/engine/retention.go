package engine

import (
	"context"
	"errors"
	"time"

	"github.com/weirstream/weir/internal/assign"
	"github.com/weirstream/weir/state"
)

// retain deletes the state of tasks that have been elsewhere for longer than
// StateRetention: until then they may come back to it.
func (e *Engine) retain(ctx context.Context) error {
	t := time.NewTicker(min(max(e.cfg.StateRetention/10, 100*time.Millisecond), time.Minute))
	defer t.Stop()
	type place struct {
		store     string
		partition int32
	}
	since := map[place]time.Time{}
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			return nil
		case now = <-t.C:
		}
		ranges, err := e.db.Ranges()
		if err != nil {
			return err
		}
		for _, r := range ranges {
			p := place{r.Store, r.Partition}
			if r.Leased {
				delete(since, p)
				continue
			}
			if since[p].IsZero() {
				since[p] = now
			}
			if now.Sub(since[p]) < e.cfg.StateRetention {
				continue
			}
			if err := e.db.Discard(r); err != nil && !errors.Is(err, state.ErrLeased) {
				return err
			}
			delete(since, p)
			e.cfg.Log.Info("deleted the state of a task that moved away", "store", r.Store, "partition", r.Partition)
		}
	}
}

// warm lists the tasks whose state this instance holds, so that they are given
// to it again.
func (e *Engine) warm() []assign.WarmTask {
	ranges, err := e.db.Ranges()
	if err != nil {
		return nil // a worse placement is no reason to fail
	}
	type place struct {
		store     string
		partition int32
	}
	at := map[place]int64{}
	for _, r := range ranges {
		at[place{r.Store, r.Partition}] = r.Position.Offset
	}
	var list []assign.WarmTask
	for i, s := range e.cfg.Plan.Subs {
		for p := range e.layout.Tasks[i] {
			sum, all := int64(0), len(s.Stores) > 0
			for _, n := range s.Stores {
				offset, ok := at[place{n.Name, p}]
				sum, all = sum+offset, all && ok
			}
			if all {
				list = append(list, assign.WarmTask{Task: assign.Task{Sub: s.ID, Partition: p}, Position: sum})
			}
		}
	}
	return list
}
