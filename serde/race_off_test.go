//go:build !race

package serde_test

// raceEnabled is true under the race detector, which makes sync.Pool drop things at random.
const raceEnabled = false
