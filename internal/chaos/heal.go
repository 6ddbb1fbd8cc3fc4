package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/verify"
)

// healLimit bounds the wait for lag 0. It is far above what is promised: a loaded machine processes slowly.
const healLimit = 4 * time.Minute

// A healing is how the application came to rest.
type healing struct {
	offsets map[string]map[int32]checkpoint.Offset
	oracle  *oracle
	last    *instance
}

// heal leaves one instance alone with a broker that is well, and nothing else to come, and waits until it has done
// everything. The others die at that moment, so that their sessions and transactions must time out.
func (g *rig) heal(ctx context.Context, r *verify.Reader) (*healing, error) {
	if err := g.revive(); err != nil {
		return nil, err
	}
	living := g.living()
	if len(living) == 0 {
		living = g.slots[:1]
		if err := g.start(living[0]); err != nil {
			return nil, err
		}
	}
	last := g.pick(living)
	for _, s := range living {
		if s != last {
			s.kill()
		}
	}
	began := time.Now()
	g.report.say("healed: %s is left to finish", last.process.name)
	replayed := last.now().Replayed
	m := g.resumed(ctx, began)
	restoring := g.restoring(ctx, last)
	h, err := g.drain(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("after %v alone with a healthy broker, %s: %w", time.Since(began).Round(time.Second), last.process.name, err)
	}
	h.last = last
	resumed, restored := m(), restoring()
	promised := (sessionTimeout + transactionTimeout + 10*time.Second).Seconds()
	g.report.healed(map[string]any{
		"resumed_s": round(resumed), "promised_s": promised, "replay_s": round(restored), "lag_zero_s": round(time.Since(began).Seconds()),
		"rows_replayed": int64(last.now().Replayed - replayed), "others_killed": len(living) - 1,
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
	if err := g.until(ctx, r, h, func() string { return h.behind(inputName, ends) }); err != nil {
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
	return h, g.until(ctx, r, h, func() string {
		if behind := h.behind(repartitionName, ends); behind != "" {
			return behind
		}
		for p, o := range h.offsets[repartitionName] {
			if want := h.oracle.final(); o.Meta.Task != want || o.Meta.Fired != want {
				return fmt.Sprintf("task %d_%d: its watermark is %d, fired up to %d, want %d", storesSub, p, o.Meta.Task, o.Meta.Fired, want)
			}
		}
		return ""
	})
}

// until asks for the committed offsets until nothing is left to wait for.
func (g *rig) until(ctx context.Context, r *verify.Reader, h *healing, waits func() string) (err error) {
	why := "no offsets"
	for {
		h.offsets, err = r.Offsets(ctx, appName)
		if err == nil {
			if why = waits(); why == "" {
				return nil
			}
		}
		if ctx.Err() != nil || pause(ctx, 200*time.Millisecond) != nil {
			return errors.Join(errors.New(why), err)
		}
		if err := g.revive(); err != nil {
			return err
		}
	}
}

// behind says which partition's committed offset has not come to its end.
func (h *healing) behind(topic string, ends kadm.ListedOffsets) (why string) {
	ends.Each(func(end kadm.ListedOffset) {
		if o, ok := h.offsets[topic][end.Partition]; !ok || o.Offset < end.Offset {
			why = fmt.Sprintf("%s, partition %d: committed is %d of %d", topic, end.Partition, o.Offset, end.Offset)
		}
	})
	return why
}
