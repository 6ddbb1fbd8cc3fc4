package streamtest_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	modelSeed  = flag.Uint64("model.seed", 0, "replay the case of the model test with this seed")
	modelCases = flag.Int("model.cases", 0, "how many cases the model test plays")
)

// TestModel compares the engine with package model on random records, over
// fixed windows and sessions, with crashes, rare commits and several workers. A
// case that fails is cut down to what it needs to fail.
func TestModel(t *testing.T) {
	n := 20_000
	if raceDetector || testing.Short() {
		n = 600
	}
	if *modelCases > 0 {
		n = *modelCases
	}
	if *modelSeed > 0 {
		report(t, newModelCase(*modelSeed))
		return
	}
	var next, failed atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1); seed <= uint64(n) && failed.Load() == 0; seed = next.Add(1) {
				if c := newModelCase(seed); c.check(t) != "" {
					failed.CompareAndSwap(0, seed)
				}
			}
		})
	}
	wg.Wait()
	if seed := failed.Load(); seed > 0 {
		report(t, newModelCase(seed))
	}
}

// report fails the test if the case fails, with the least of it that does.
func report(t *testing.T, c modelCase) {
	t.Helper()
	diff := c.check(t)
	if diff == "" {
		return
	}
	small := shrink(c, func(c modelCase) bool { return c.check(t) != "" })
	t.Errorf("engine and model differ; replay with -run TestModel -model.seed %d\n%v%s", c.seed, small, small.check(t))
}

// shrink removes from a case whatever it fails without.
func shrink(c modelCase, fails func(modelCase) bool) modelCase {
	for again := true; again; {
		again = false
		for i := len(c.events) - 1; i >= 0; i-- {
			less := c
			less.events = slices.Delete(slices.Clone(c.events), i, i+1)
			if fails(less) {
				c, again = less, true
			}
		}
		for _, simplify := range []func(*modelCase){
			func(c *modelCase) { c.commitEvery = 1 },
			func(c *modelCase) { c.workers = 1 },
			func(c *modelCase) { c.closeStep = 0 },
			func(c *modelCase) { c.cache = -1 },
			func(c *modelCase) { c.again = 0 },
			func(c *modelCase) { c.second = 0 },
			func(c *modelCase) { c.setup.Grace = 0 },
			func(c *modelCase) { c.setup.Bound = 0 },
			func(c *modelCase) { c.setup.Offset = 0 },
			func(c *modelCase) { c.setup.Idle = 0 },
		} {
			less := c
			simplify(&less)
			if fmt.Sprint(less) != fmt.Sprint(c) && fails(less) {
				c, again = less, true
			}
		}
	}
	return c
}
