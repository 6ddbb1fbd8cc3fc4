package streamtest

import (
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
)

// A layout knows how many partitions every topic has, and every sub-topology
// tasks.
type layout struct {
	plan  *graph.Plan
	opts  *options
	inner map[string]*flow.Topic // internal topics
}

func newLayout(p *graph.Plan, o *options) *layout {
	l := &layout{plan: p, opts: o, inner: map[string]*flow.Topic{}}
	for _, sub := range p.Subs {
		for _, n := range sub.Stores {
			name := p.ChangelogTopic(n)
			l.inner[name] = &flow.Topic{Name: name, Partitions: l.tasks(sub)}
		}
		for _, n := range sub.Sources {
			if n.Kind == graph.RepartitionSource {
				name := p.RepartitionTopic(n)
				l.inner[name] = &flow.Topic{Name: name, Partitions: l.partitions(n)}
			}
		}
	}
	return l
}

// tasks is the number of tasks of a sub-topology: as many as the largest of the
// topics that it reads has partitions.
func (l *layout) tasks(sub *graph.Sub) int32 {
	n := int32(0)
	for _, source := range sub.Sources {
		n = max(n, l.partitions(source))
	}
	return n
}

// partitions is the number of partitions that a source reads.
func (l *layout) partitions(source *graph.Node) int32 {
	switch {
	case source.Kind != graph.RepartitionSource:
		return l.opts.topic(source.Topic).Partitions
	case source.Partitions > 0:
		return source.Partitions
	}
	return l.tasks(l.plan.Writer(source))
}

// topic describes a topic, nil if it does not exist.
func (l *layout) topic(name string) *flow.Topic {
	if t := l.inner[name]; t != nil {
		return t
	}
	if l.opts.missing[name] {
		return nil
	}
	return l.opts.topic(name)
}

// upstream is the number of tasks that write a repartition topic.
func (l *layout) upstream(topic string) int32 {
	for _, sub := range l.plan.Subs {
		for _, n := range sub.Repartitions {
			if l.plan.RepartitionTopic(n) == topic {
				return l.tasks(sub)
			}
		}
	}
	return 0
}

// source returns the source that reads a topic, nil if none does.
func (l *layout) source(topic string) *graph.Node {
	for _, sub := range l.plan.Subs {
		for _, n := range sub.Sources {
			if n.Kind == graph.Source && n.Topic == topic {
				return n
			}
		}
	}
	return nil
}
