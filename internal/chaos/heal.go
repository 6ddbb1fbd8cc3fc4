package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/verify"
)

// The wait for lag 0 is bounded by how long it sees no progress: a loaded machine processes slowly.
const (
	stallLimit = 90 * time.Second
	healLimit  = 10 * time.Minute
)

// A healing is how the application came to rest.
type healing struct {
	offsets map[string]map[int32]checkpoint.Offset
	oracle  *oracle
	last    *instance
}

// alone leaves one instance with a broker that is well: the last, from then on. The others die at that moment, with data
// still flowing, so that their sessions and transactions must time out.
func (g *rig) alone(ctx context.Context) (last *instance, since time.Time, err error) {
	for len(g.living()) < 2 { // someone must die
		if err := g.start(g.idle()[0]); err != nil {
			return nil, since, err
		}
		if _, err := g.steady(ctx); err != nil {
			return nil, since, err
		}
	}
	if err := pause(ctx, time.Second); err != nil { // into transactions, most likely
		return nil, since, err
	}
	living := g.living()
	if len(living) == 0 {
		return nil, since, fmt.Errorf("no instance lives; logs are in %s", g.dir)
	}
	last = g.pick(living)
	var l faultLine
	since = time.Now()
	for _, s := range living {
		if s != last {
			g.kill(ctx, s, &l)
		}
	}
	g.report.say("healed: %s is left to finish; %d others died, %d of them in transactions", last.process.name, l.Kills, l.Open)
	return last, since, nil
}

// heal waits until the last instance has done everything there is to do.
func (g *rig) heal(ctx context.Context, r *verify.Reader, last *instance, began time.Time) (*healing, error) {
	replayed := last.now().Replayed
	m := g.resumed(ctx, began)
	restoring := g.restoring(ctx, last)
	h, err := g.drain(ctx, r)
	if err != nil {
		last.dump()
		return nil, fmt.Errorf("after %v alone with a healthy broker, %s: %w", time.Since(began).Round(time.Second), last.process.name, err)
	}
	h.last = last
	resumed, restored := m(), restoring()
	promised := (sessionTimeout + g.transaction + 10*time.Second).Seconds()
	g.report.healed(map[string]any{
		"resumed_s": round(resumed), "promised_s": promised, "replay_s": round(restored), "lag_zero_s": round(time.Since(began).Seconds()),
		"rows_replayed": int64(last.now().Replayed - replayed),
	})
	if resumed > promised+restored {
		g.report.violation("progress resumed %.1f s after all was healed; promised are %.0f s, and %.1f s of replay", resumed, promised, restored)
	}
	took, err := last.process.stop(ctx, stopLimit)
	if err != nil {
		g.report.violation("%v", err)
	}
	g.report.say("stopped within %v", took.Round(time.Millisecond))
	return h, g.revive()
}

// resumed measures until every source partition has moved, or had nothing left.
func (g *rig) resumed(ctx context.Context, began time.Time) func() float64 {
	done := make(chan float64, 1)
	go func() {
		first := map[int32]int64{}
		await(ctx, healLimit, func() bool {
			at, ends, err := g.sources(ctx)
			if err != nil {
				return false
			}
			moved := 0
			for p, end := range ends {
				if _, ok := first[p]; !ok {
					first[p] = at[p]
				}
				if at[p] > first[p] || at[p] == end {
					moved++
				}
			}
			return moved == partitions
		})
		done <- time.Since(began).Seconds()
	}()
	return func() float64 { return <-done }
}

// sources returns the committed offsets and the ends of the input.
func (g *rig) sources(ctx context.Context) (at, ends map[int32]int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	fetched, err1 := g.view.admin.FetchOffsets(kadm.RequireStable(ctx), appName)
	listed, err2 := g.view.admin.ListEndOffsets(ctx, inputName)
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, err
	}
	at, ends = map[int32]int64{}, map[int32]int64{}
	fetched.Each(func(o kadm.OffsetResponse) {
		if o.Topic == inputName && o.Err == nil {
			at[o.Partition] = o.At
		}
	})
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return at, ends, errors.Join(fetched.Error(), listed.Error())
}

// restoring measures for how long an instance restores.
func (g *rig) restoring(ctx context.Context, s *instance) func() float64 {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan time.Duration, 1)
	go func() {
		var total time.Duration
		before := time.Now()
		for pause(ctx, statusEvery) == nil {
			now := time.Now()
			if st := s.now(); st.Remaining > 0 || !st.Ready {
				total += now.Sub(before)
			}
			before = now
		}
		done <- total
	}()
	return func() float64 { cancel(); return (<-done).Seconds() }
}

// drain waits until all input is processed, through both sub-topologies, and event time stands where the input says.
func (g *rig) drain(ctx context.Context, r *verify.Reader) (*healing, error) {
	ctx, cancel := context.WithTimeout(ctx, healLimit)
	defer cancel()
	h := &healing{oracle: newOracle()}
	ends, err := r.Admin().ListEndOffsets(ctx, inputName)
	if err != nil {
		return nil, err
	}
	if err := g.until(ctx, r, h, func() (int64, string) { return h.behind(inputName, ends) }); err != nil {
		return nil, err
	}
	// What the first sub-topology wrote is all there now.
	if ends, err = r.Admin().ListCommittedOffsets(ctx, repartitionName); err != nil {
		return nil, err
	}
	logs, err := r.Topic(ctx, inputName)
	if err != nil {
		return nil, err
	}
	for _, l := range logs {
		for _, rec := range l.Records {
			if err := h.oracle.add(rec); err != nil {
				return nil, err
			}
		}
	}
	return h, g.until(ctx, r, h, func() (int64, string) {
		if left, behind := h.behind(repartitionName, ends); left > 0 {
			return left, behind
		}
		for p, o := range h.offsets[repartitionName] {
			if want := h.oracle.final(); o.Meta.Task != want || o.Meta.Fired != want {
				return 1, fmt.Sprintf("task %d_%d: its watermark is %d, fired up to %d, want %d", storesSub, p, o.Meta.Task, o.Meta.Fired, want)
			}
		}
		return 0, ""
	})
}

// until asks for the committed offsets until nothing is left to wait for, or nothing moves. waits says how much is left, and
// what of it.
func (g *rig) until(ctx context.Context, r *verify.Reader, h *healing, waits func() (int64, string)) (err error) {
	why, left, least, moved, told := "no offsets", int64(0), int64(math.MaxInt64), time.Now(), time.Now()
	for {
		h.offsets, err = r.Offsets(ctx, appName)
		if err == nil {
			if left, why = waits(); left == 0 {
				return nil
			}
			if left < least {
				least, moved = left, time.Now()
			}
		}
		if time.Since(moved) > stallLimit || ctx.Err() != nil || pause(ctx, 200*time.Millisecond) != nil {
			return errors.Join(fmt.Errorf("no progress for %v: %s", time.Since(moved).Round(time.Second), why), err)
		}
		if time.Since(told) > 10*time.Second {
			g.report.say("%d left: %s", left, why)
			told = time.Now()
		}
		if err := g.revive(); err != nil {
			return err
		}
	}
}

// behind says how far the committed offsets are from their ends, and which partition's is.
func (h *healing) behind(topic string, ends kadm.ListedOffsets) (left int64, why string) {
	ends.Each(func(end kadm.ListedOffset) {
		if o := h.offsets[topic][end.Partition]; o.Offset < end.Offset {
			left += end.Offset - o.Offset
			why = fmt.Sprintf("%s, partition %d: committed is %d of %d", topic, end.Partition, o.Offset, end.Offset)
		}
	})
	return left, why
}
