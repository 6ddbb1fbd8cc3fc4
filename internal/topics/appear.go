package topics

import (
	"context"
	"fmt"
	"time"

	"github.com/weirstream/weir/internal/flow"
)

// appear waits until the brokers know of a topic that was just created.
func (k *Keeper) appear(ctx context.Context, name string) (*flow.Topic, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if t, err := k.find(ctx, name); err == nil && t != nil {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("topic %s was created and did not appear within 30 s: %w", name, ctx.Err())
		case <-tick.C:
		}
	}
}
