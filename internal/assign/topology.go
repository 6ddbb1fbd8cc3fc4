package assign

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A SubTopology is a part of the topology connected without crossing a topic, as the balancer sees it.
type SubTopology struct {
	ID         int32            // not negative, unique, and the same in every instance
	Topics     []string         // its source topics: task (ID, p) reads partition p of each
	Partitions int32            // how many tasks it has: the partition count of its topics
	Counts     map[string]int32 // the partition counts of those topics that have fewer than Partitions; nil if there are none
}

// count returns how many partitions of a topic the sub-topology reads.
func (s SubTopology) count(topic string) int32 {
	if n, ok := s.Counts[topic]; ok {
		return n
	}
	return s.Partitions
}

// checkTopology returns what is wrong with a topology, nil if nothing is.
func checkTopology(topology []SubTopology) error {
	var errs []error
	reader := map[string]int32{}
	seen := map[int32]bool{}
	for _, sub := range topology {
		if sub.ID < 0 || seen[sub.ID] {
			errs = append(errs, fmt.Errorf("assign: sub-topology id %d is negative or used twice", sub.ID))
		}
		seen[sub.ID] = true
		if sub.Partitions <= 0 {
			errs = append(errs, fmt.Errorf("assign: sub-topology %d has %d partitions: it needs at least one", sub.ID, sub.Partitions))
		}
		full := false
		for _, topic := range sub.Topics {
			if other, taken := reader[topic]; taken {
				errs = append(errs, fmt.Errorf("assign: topic %q is read by sub-topologies %d and %d: its partitions would have two owners",
					topic, other, sub.ID))
			}
			reader[topic] = sub.ID
			n := sub.count(topic)
			full = full || n == sub.Partitions
			if n <= 0 || n > sub.Partitions {
				errs = append(errs, fmt.Errorf("assign: topic %q has %d partitions, sub-topology %d has %d tasks", topic, n, sub.ID, sub.Partitions))
			}
		}
		if !full {
			errs = append(errs, fmt.Errorf("assign: sub-topology %d reads no topic with its %d partitions", sub.ID, sub.Partitions))
		}
	}
	return errors.Join(errs...)
}

// A layout is a topology looked at from its tasks.
type layout struct {
	tasks       []Task // sorted
	topics      []string
	fingerprint string
	subs        map[int32]SubTopology
}

func newLayout(topology []SubTopology) layout {
	l := layout{fingerprint: Fingerprint(topology), subs: make(map[int32]SubTopology, len(topology))}
	for _, sub := range topology {
		l.subs[sub.ID] = sub
		l.topics = append(l.topics, sub.Topics...)
		for p := range sub.Partitions {
			l.tasks = append(l.tasks, Task{sub.ID, p})
		}
	}
	slices.Sort(l.topics)
	slices.SortFunc(l.tasks, compareTasks)
	return l
}

// has reports whether the task is one of the topology's.
func (l layout) has(t Task) bool {
	sub, ok := l.subs[t.Sub]
	return ok && t.Partition >= 0 && t.Partition < sub.Partitions
}

// partitions returns the topics' partitions of tasks, sorted.
func (l layout) partitions(tasks []Task) map[string][]int32 {
	m := map[string][]int32{}
	for _, t := range sortedTasks(tasks) {
		for _, topic := range l.subs[t.Sub].Topics {
			if t.Partition < l.subs[t.Sub].count(topic) {
				m[topic] = append(m[topic], t.Partition)
			}
		}
	}
	return m
}

// reading returns the tasks that read any of the topics' partitions.
func (l layout) reading(partitions map[string][]int32) []Task {
	var tasks []Task
	for _, t := range l.tasks {
		for _, topic := range l.subs[t.Sub].Topics {
			if t.Partition < l.subs[t.Sub].count(topic) && slices.Contains(partitions[topic], t.Partition) {
				tasks = append(tasks, t)
				break
			}
		}
	}
	return tasks
}

// Fingerprint returns a short text that is equal for equal topologies only: their sizes, for people, and a hash over ids, topics
// and partition counts. The order of the arguments and of topics makes no difference.
func Fingerprint(topology []SubTopology) string {
	subs := slices.SortedFunc(slices.Values(topology), func(a, b SubTopology) int { return cmp.Compare(a.ID, b.ID) })
	var b strings.Builder
	tasks := int64(0)
	for _, sub := range subs {
		tasks += int64(sub.Partitions)
		fmt.Fprintf(&b, "%d/%d\n", sub.ID, sub.Partitions)
		for _, topic := range slices.Sorted(slices.Values(sub.Topics)) {
			fmt.Fprintf(&b, "%q/%d\n", topic, sub.count(topic))
		}
	}
	return fmt.Sprintf("%d sub-topologies, %d tasks, %.8x", len(subs), tasks, sha256.Sum256([]byte(b.String())))
}

// sortedTopics returns the topics of a partition map in order.
func sortedTopics(partitions map[string][]int32) []string {
	return slices.Sorted(maps.Keys(partitions))
}
