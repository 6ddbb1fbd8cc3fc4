package stream

import (
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/seam"
)

func init() {
	seam.PlanOf = func(topology any, app string) (*graph.Plan, error) {
		top := topology.(*Topology)
		if app == "" {
			app = top.graph.Name
		}
		return top.graph.Build(app, &flow.Policy{})
	}
	seam.Override = func(cfg any, r seam.Replacements) { cfg.(*Config).replaced = r }
}
