package graph

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/weirstream/weir/internal/flow"
)

// A Plan is a checked topology, cut into sub-topologies.
type Plan struct {
	App   string // begins the names of group, internal topics and transactions
	Subs  []*Sub
	Names []string // of nodes, by id
	Nodes []*Node
}

// A Sub is a part of a topology that is connected without crossing a topic.
type Sub struct {
	ID           int32
	Sources      []*Node
	Stores       []*Node // upstream first
	Sinks        []*Node
	Repartitions []*Node       // ends that write
	Holds        map[int]int64 // by node: how far its input's watermark is behind the task's, ms
	FlushFirst   map[int][]int // by node with a store: nodes whose updates reach it
}

// Build checks the graph and cuts it up. It reports every mistake, joined.
// byDefault is the policy of operators that nothing else was said of.
func (g *Graph) Build(app string, byDefault *flow.Policy) (*Plan, error) {
	errs := slices.Clone(g.errs)
	if err := ValidName(app); err != nil {
		errs = append(errs, fmt.Errorf("the topology: %w", err))
	}
	note := func(n *Node, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s %s: %w", n.Where, n.Op, n.Name, err))
		}
	}
	if len(g.Nodes) == 0 {
		errs = append(errs, errors.New("the topology is empty: it reads nothing"))
	}
	p := &Plan{App: app, Nodes: g.Nodes}
	for _, n := range g.Nodes {
		p.Names = append(p.Names, n.Name)
		if n.Policy == nil || n.Policy == g.byDefault {
			n.Policy = byDefault
		}
		if n.Kind != Sink && n.Kind != RepartitionSink && !n.used {
			note(n, errors.New("nothing follows it: end the chain with To"))
		}
		if n.Check != nil {
			note(n, n.Check(n))
		}
	}
	g.byDefault = byDefault
	p.cut()
	for _, s := range p.Subs {
		for _, n := range s.Repartitions {
			if p.reaches(p.reader(n), s) {
				note(n, errors.New("what is read from its topic meets what is written to it, as by Merge, so that event time would wait "+
					"for itself: write to a topic of your own instead, and read that"))
			}
		}
	}
	return p, errors.Join(errs...)
}

// reader returns the sub-topology that reads the repartition topic that sink
// writes.
func (p *Plan) reader(sink *Node) *Sub {
	for _, s := range p.Subs {
		if slices.Contains(s.Sources, sink.Twin) {
			return s
		}
	}
	return nil
}

// reaches reports whether records can pass from one sub-topology to another.
func (p *Plan) reaches(from, to *Sub) bool {
	seen := map[*Sub]bool{}
	var visit func(s *Sub) bool
	visit = func(s *Sub) bool {
		if s == nil || seen[s] {
			return false
		}
		seen[s] = true
		return s == to || slices.ContainsFunc(s.Repartitions, func(n *Node) bool { return visit(p.reader(n)) })
	}
	return visit(from)
}

// ChangelogTopic is the name of a store's changelog topic.
func (p *Plan) ChangelogTopic(n *Node) string { return p.App + "-" + n.Name + "-changelog" }

// RepartitionTopic is the name of the repartition topic of either of its ends.
func (p *Plan) RepartitionTopic(n *Node) string { return p.App + "-" + n.Topic + "-repartition" }

// TopicOf is the full name of the topic that a source or sink is about.
func (p *Plan) TopicOf(n *Node) string {
	if n.Kind == RepartitionSink || n.Kind == RepartitionSource {
		return p.RepartitionTopic(n)
	}
	return n.Topic
}

// Writer returns the sub-topology that writes the repartition topic that source
// reads.
func (p *Plan) Writer(source *Node) *Sub {
	for _, s := range p.Subs {
		if slices.Contains(s.Repartitions, source.Twin) {
			return s
		}
	}
	return nil
}

// Fingerprint changes when sub-topologies, their topics or their stores do.
func (p *Plan) Fingerprint() string {
	h := sha256.New()
	for _, s := range p.Subs {
		for _, list := range [][]*Node{s.Sources, s.Stores, s.Repartitions} {
			for _, n := range list {
				fmt.Fprintf(h, "%d %d %s %s %d\n", s.ID, n.Kind, n.Op, p.TopicOf(n)+n.Name, n.Partitions)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// cut finds the sub-topologies. Nodes are numbered in the order in which they
// were described, so parents come before children.
func (p *Plan) cut() {
	root := make([]int, len(p.Nodes))
	var find func(i int) int
	find = func(i int) int {
		if root[i] != i {
			root[i] = find(root[i])
		}
		return root[i]
	}
	for i, n := range p.Nodes {
		root[i] = i
		for _, parent := range n.Parents {
			if a, b := find(parent.ID), find(i); a != b {
				root[max(a, b)] = min(a, b)
			}
		}
	}
	subs := map[int]*Sub{}
	for i, n := range p.Nodes {
		r := find(i)
		if subs[r] == nil {
			subs[r] = &Sub{ID: int32(len(subs)), Holds: map[int]int64{}, FlushFirst: map[int][]int{}}
			p.Subs = append(p.Subs, subs[r])
		}
		subs[r].add(n)
	}
	slices.SortFunc(p.Subs, func(a, b *Sub) int { return cmp.Compare(a.ID, b.ID) })
}

func (s *Sub) add(n *Node) {
	switch n.Kind {
	case Source, RepartitionSource:
		s.Sources = append(s.Sources, n)
	case Stateful:
		s.Stores = append(s.Stores, n)
	case Sink:
		s.Sinks = append(s.Sinks, n)
	case RepartitionSink:
		s.Repartitions = append(s.Repartitions, n)
	}
	// A node's watermark is behind by what all that is upstream of it holds
	// back; where streams meet, by the longest.
	for _, parent := range n.Parents {
		s.Holds[n.ID] = max(s.Holds[n.ID], s.Holds[parent.ID]+parent.Hold)
		for _, up := range s.FlushFirst[parent.ID] {
			s.flushBefore(n.ID, up)
		}
		if parent.FromUpdates {
			s.flushBefore(n.ID, parent.Parents[0].ID)
		}
	}
}

func (s *Sub) flushBefore(n, up int) {
	if !slices.Contains(s.FlushFirst[n], up) {
		s.FlushFirst[n] = append(s.FlushFirst[n], up)
	}
}
