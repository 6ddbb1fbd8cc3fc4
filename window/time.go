package window

import (
	"math"
	"time"
)

// dayMs is the length of a day without a change of the clock.
const dayMs = 24 * 60 * 60 * 1000

// satAdd returns a+b for b >= 0, or the greatest int64 where the sum is beyond it.
func satAdd(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}

// satSub returns a-b for b >= 0, or the least int64 where the difference is below it.
func satSub(a, b int64) int64 {
	if diff := a - b; diff <= a {
		return diff
	}
	return math.MinInt64
}

// floorMod returns the remainder of a/b that has the sign of b. Go's % has the sign of a, which would put times before
// the epoch into the window after their own.
func floorMod(a, b int64) int64 {
	if r := a % b; r >= 0 {
		return r
	} else {
		return r + b
	}
}

// floorDiv returns a/b rounded down, for b > 0.
func floorDiv(a, b int64) int64 {
	return (a - floorMod(a, b)) / b
}

// whole reports whether d is a whole number of milliseconds.
func whole(d time.Duration) bool {
	return d%time.Millisecond == 0
}

// duration returns ms as a Duration. Every ms of this package came from a Duration, so it fits.
func duration(ms int64) time.Duration {
	return time.Duration(ms) * time.Millisecond
}
