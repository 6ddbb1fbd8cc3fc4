package client

import (
	"context"
	"sync"
)

// An assignment is which partitions the client beneath has taken over: it lags
// behind what the balancer knows. Until then an offset that is set may be
// forgotten, and the partition is still to be paused.
type assignment struct {
	mu      sync.Mutex
	parts   map[partition]bool
	changed chan struct{} // closed when partitions were added
}

type partition struct {
	topic  string
	number int32
}

func newAssignment() *assignment {
	return &assignment{parts: map[partition]bool{}, changed: make(chan struct{})}
}

func (a *assignment) add(parts map[string][]int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	each(parts, func(p partition) { a.parts[p] = true })
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *assignment) remove(parts map[string][]int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	each(parts, func(p partition) { delete(a.parts, p) })
}

// covers reports whether all partitions have been taken over. If not, it
// returns what is closed when there are more.
func (a *assignment) covers(parts map[string][]int32) (bool, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := true
	each(parts, func(p partition) { all = all && a.parts[p] })
	return all, a.changed
}

func each(parts map[string][]int32, f func(partition)) {
	for topic, ps := range parts {
		for _, p := range ps {
			f(partition{topic, p})
		}
	}
}

// AwaitAssigned waits until partitions that the balancer was given are the
// client's: only then may they be resumed.
func (c *Client) AwaitAssigned(ctx context.Context, parts map[string][]int32) error {
	for {
		ok, more := c.parts.covers(parts)
		if ok {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
