package assign

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTopologyMistakes(t *testing.T) {
	for want, topology := range map[string][]SubTopology{
		"sub-topology id -1 is negative": {{ID: -1, Topics: []string{"in"}, Partitions: 1}},
		"sub-topology id 0 is negative or used twice": {
			{Topics: []string{"a"}, Partitions: 1}, {Topics: []string{"b"}, Partitions: 1},
		},
		"sub-topology 0 has 0 partitions": {{Topics: []string{"in"}}},
		"\"in\" is read by sub-topologies 0 and 1": {
			{Topics: []string{"in"}, Partitions: 1}, {ID: 1, Topics: []string{"in"}, Partitions: 1},
		},
		"\"in\" has 3 partitions, sub-topology 0 has 2":     {{Topics: []string{"in", "b"}, Partitions: 2, Counts: map[string]int32{"in": 3}}},
		"sub-topology 0 reads no topic with its 2 partitio": {{Topics: []string{"in"}, Partitions: 2, Counts: map[string]int32{"in": 1}}},
		"sub-topology 4 reads no topic":                     {{ID: 4, Partitions: 2}},
	} {
		_, err := New(Config{Topology: topology})
		require.ErrorContains(t, err, want)
	}
	_, err := New(Config{})
	require.NoError(t, err, "a topology without source topics has no tasks")
}

func TestLayout(t *testing.T) {
	l := newLayout([]SubTopology{
		{ID: 2, Topics: []string{"orders", "rates"}, Partitions: 3, Counts: map[string]int32{"rates": 1}},
		{ID: 0, Topics: []string{"clicks"}, Partitions: 2},
	})
	require.Equal(t, []Task{{0, 0}, {0, 1}, {2, 0}, {2, 1}, {2, 2}}, l.tasks)
	require.Equal(t, []string{"clicks", "orders", "rates"}, l.topics)
	require.Equal(t, map[string][]int32{"orders": {0, 2}, "rates": {0}, "clicks": {1}}, l.partitions([]Task{{2, 2}, {0, 1}, {2, 0}}))
	require.Equal(t, []Task{{0, 1}, {2, 0}}, l.reading(map[string][]int32{"rates": {0}, "clicks": {1, 5}}))
	for task, has := range map[Task]bool{{0, 1}: true, {0, 2}: false, {1, 0}: false, {2, -1}: false} {
		require.Equal(t, has, l.has(task), task)
	}
}

func TestFingerprint(t *testing.T) {
	base := []SubTopology{{ID: 0, Topics: []string{"a", "b"}, Partitions: 2}, {ID: 1, Topics: []string{"c"}, Partitions: 3}}
	print := Fingerprint(base)
	require.Regexp(t, `^2 sub-topologies, 5 tasks, [0-9a-f]{16}$`, print)
	require.Equal(t, print, Fingerprint([]SubTopology{
		{ID: 1, Topics: []string{"c"}, Partitions: 3}, {ID: 0, Topics: []string{"b", "a"}, Partitions: 2},
	}))
	for name, other := range map[string][]SubTopology{
		"a partition more":   {{ID: 0, Topics: []string{"a", "b"}, Partitions: 2}, {ID: 1, Topics: []string{"c"}, Partitions: 4}},
		"another id":         {{ID: 0, Topics: []string{"a", "b"}, Partitions: 2}, {ID: 2, Topics: []string{"c"}, Partitions: 3}},
		"a topic less":       {{ID: 0, Topics: []string{"a"}, Partitions: 2}, {ID: 1, Topics: []string{"c"}, Partitions: 3}},
		"names run together": {{ID: 0, Topics: []string{`a"/2` + "\n" + `"b`}, Partitions: 2}, {ID: 1, Topics: []string{"c"}, Partitions: 3}},
		"a topic moves over": {{ID: 0, Topics: []string{"a"}, Partitions: 2}, {ID: 1, Topics: []string{"b", "c"}, Partitions: 3}},
		"a smaller topic": {
			{ID: 0, Topics: []string{"a", "b"}, Partitions: 2, Counts: map[string]int32{"b": 1}}, {ID: 1, Topics: []string{"c"}, Partitions: 3},
		},
		"a sub-topology less": base[1:],
	} {
		require.NotEqual(t, print, Fingerprint(other), name)
	}
}
