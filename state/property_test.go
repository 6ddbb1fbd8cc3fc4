package state

import (
	"testing"
	"time"

	"github.com/weirstream/weir/window"
)

func TestKeyValueAgainstModel(t *testing.T) {
	runSeeds(t, 200, 120, func(uint64) subject { return newKeyValueSubject() })
}

func TestWindowAgainstModel(t *testing.T) {
	kinds := []window.Fixed{
		window.Tumbling(10 * time.Millisecond).Grace(5 * time.Millisecond),
		window.Hopping(20*time.Millisecond, 7*time.Millisecond),
		window.Tumbling(30 * time.Millisecond).Offset(-4 * time.Millisecond).Grace(25 * time.Millisecond),
	}
	runSeeds(t, 300, 150, func(seed uint64) subject { return newWindowSubject(kinds[seed%uint64(len(kinds))]) },
		"interrupted", "committed while closing", "evicted while closing", "cut", "head not needed", "run again")
}

func TestSessionAgainstModel(t *testing.T) {
	kinds := []window.Session{
		window.Gap(5 * time.Millisecond),
		window.Gap(3 * time.Millisecond).Grace(12 * time.Millisecond),
		window.Gap(8 * time.Millisecond).Grace(20 * time.Millisecond),
	}
	runSeeds(t, 400, 150, func(seed uint64) subject { return newSessionSubject(kinds[seed%uint64(len(kinds))]) },
		"interrupted", "committed while closing", "evicted while closing", "cut", "head not needed", "run again", "reached a closed session")
}
