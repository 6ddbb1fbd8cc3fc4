// Package seam lets Weir's own packages reach what package stream does not show
// its users: the plan of a topology, and what a test replaces.
package seam

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/graph"
)

// PlanOf returns the checked plan of a *stream.Topology under the app's name,
// or under the topology's own if that is empty.
var PlanOf func(topology any, app string) (*graph.Plan, error)

// Override replaces what an app takes from its surroundings. cfg is a
// *stream.Config.
var Override func(cfg any, r Replacements)

// Replacements are what a test replaces. What is unset stays as it is.
type Replacements struct {
	FS     vfs.FS          // where state is kept
	Hook   checkpoint.Hook // called at each crash point
	Client []kgo.Opt       // added last to each Kafka client

	PurgeEvery time.Duration // how often what is not needed is deleted from internal topics
}
