// Package topics knows which topics an application needs, how many partitions
// they must have and how internal ones are configured, and sees to it.
package topics

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirstream/weir/internal/graph"
)

// A Layout is how many partitions there are.
type Layout struct {
	Tasks  []int32          // by sub-topology
	Counts map[string]int32 // by topic, internal ones too
}

// Partitions is the number of partitions of a topic.
func (l *Layout) Partitions(topic string) int32 { return l.Counts[topic] }

// Total is the number of tasks.
func (l *Layout) Total() (n int) {
	for _, t := range l.Tasks {
		n += int(t)
	}
	return n
}

// Lay works the layout out from the partition counts of the application's own
// topics: those of repartition topics follow from what writes them.
func Lay(p *graph.Plan, count func(topic string) int32) (*Layout, error) {
	l := &Layout{Tasks: make([]int32, len(p.Subs)), Counts: map[string]int32{}}
	for _, s := range p.Subs {
		for _, n := range s.Sources {
			if n.Kind == graph.Source {
				l.Counts[n.Topic] = count(n.Topic)
			}
		}
	}
	// A repartition topic's count may follow from another's: go on while it helps.
	for changed := true; changed; {
		changed = false
		for i, s := range p.Subs {
			n, known := l.tasks(p, s)
			if !known || n == l.Tasks[i] {
				continue
			}
			l.Tasks[i], changed = n, true
			for _, r := range s.Repartitions {
				l.Counts[p.RepartitionTopic(r)] = n
				if r.Partitions > 0 {
					l.Counts[p.RepartitionTopic(r)] = r.Partitions
				}
			}
		}
	}
	var errs []error
	for i, s := range p.Subs {
		if l.Tasks[i] == 0 {
			errs = append(errs, fmt.Errorf("sub-topology %d has no source with a known number of partitions", i))
		}
		errs = append(errs, l.copartitioned(p, s))
	}
	return l, errors.Join(errs...)
}

// tasks is how many tasks a sub-topology has: as many as its largest source has
// partitions.
func (l *Layout) tasks(p *graph.Plan, s *graph.Sub) (n int32, known bool) {
	for _, src := range s.Sources {
		c := l.Counts[p.TopicOf(src)]
		if c == 0 {
			return 0, false
		}
		n = max(n, c)
	}
	return n, n > 0
}

// copartitioned checks that sources which meet at a store agree.
func (l *Layout) copartitioned(p *graph.Plan, s *graph.Sub) error {
	if len(s.Stores) == 0 || len(s.Sources) < 2 {
		return nil
	}
	var list []string
	same := true
	for _, src := range s.Sources {
		c := l.Counts[p.TopicOf(src)]
		list = append(list, fmt.Sprintf("%s has %d", p.TopicOf(src), c))
		same = same && c == l.Counts[p.TopicOf(s.Sources[0])] && src.Partitioner == s.Sources[0].Partitioner
	}
	if same {
		return nil
	}
	slices.Sort(list)
	return fmt.Errorf("the topics that meet in store %s must have equal numbers of partitions and one partitioner, or equal keys would not "+
		"meet: %s; put Repartition in front of one", s.Stores[0].Name, strings.Join(list, ", "))
}
