//go:build race

package state

// underRace says that tests run under the race detector, and so slowly.
const underRace = true
