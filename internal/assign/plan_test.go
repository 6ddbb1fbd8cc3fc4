package assign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestPlanTranscripts reads testdata/plan/*: the input of "plan" lists sub-topologies and members, the output is the plan, or, with
// rounds, the plans of that many generations, in each of which the members claim what the one before gave them.
func TestPlanTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			require.Equal(t, "plan", d.Cmd)
			generation, rounds := 6, 1
			d.MaybeScanArgs(t, "rounds", &rounds)
			tasks, members := parsePlanInput(t, d.Input)
			var out strings.Builder
			for range rounds {
				plan := Plan(int32(generation), tasks, members)
				if rounds > 1 {
					fmt.Fprintf(&out, "generation %d\n", generation)
				}
				writePlan(&out, plan, members)
				for i := range members {
					members[i].Owned, members[i].Generation = plan.Shares[members[i].ID].Tasks, int32(generation)
				}
				generation++
			}
			return out.String()
		})
	})
}

// parsePlanInput reads lines "sub ID partitions=N" and "ID [instance=I] [owns=0_0,0_1] [generation=N] [warm=0_0@7,...] [refused]".
// The instance defaults to the member's own, the generation to 5.
func parsePlanInput(t *testing.T, input string) (tasks []Task, members []Member) {
	for line := range strings.SplitSeq(input, "\n") {
		words := strings.Fields(line)
		if words[0] == "sub" {
			for p := range number(t, strings.TrimPrefix(words[2], "partitions=")) {
				tasks = append(tasks, Task{int32(number(t, words[1])), int32(p)})
			}
			continue
		}
		m := Member{ID: words[0], Instance: words[0], Generation: 5}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "instance":
				m.Instance = value
			case "generation":
				m.Generation = int32(number(t, value))
			case "refused":
				m.Refused = true
			case "owns":
				for task := range strings.SplitSeq(value, ",") {
					m.Owned = append(m.Owned, parseTask(t, task))
				}
			case "warm":
				for entry := range strings.SplitSeq(value, ",") {
					task, at, _ := strings.Cut(entry, "@")
					m.Warm = append(m.Warm, WarmTask{parseTask(t, task), number(t, at)})
				}
			default:
				t.Fatalf("unknown word %q", word)
			}
		}
		members = append(members, m)
	}
	return tasks, members
}

func parseTask(t *testing.T, s string) Task {
	sub, partition, _ := strings.Cut(s, "_")
	return Task{int32(number(t, sub)), int32(number(t, partition))}
}

func number(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err)
	return n
}

func writePlan(out *strings.Builder, plan Assignment, members []Member) {
	for _, m := range members {
		share := plan.Shares[m.ID]
		fmt.Fprintf(out, "%s runs %v", m.ID, share.Tasks)
		if len(share.Release) > 0 {
			fmt.Fprintf(out, " releases %v", share.Release)
		}
		if share.Rejoin {
			fmt.Fprint(out, " rejoins")
		}
		fmt.Fprintln(out)
	}
	if len(plan.Withheld) > 0 {
		fmt.Fprintf(out, "withheld %v\n", plan.Withheld)
	}
}

func TestPlanIgnoresOrder(t *testing.T) {
	tasks, members := parsePlanInput(t, "sub 0 partitions=5\nsub 1 partitions=3\na owns=0_0,0_1,1_0\nb owns=0_2 warm=0_4@1\nc instance=b\nd")
	want := Plan(6, tasks, members)
	slices.Reverse(tasks)
	slices.Reverse(members)
	require.Equal(t, want, Plan(6, append(tasks, tasks[0]), members))
}

func TestPlanOfNobodyAndNothing(t *testing.T) {
	require.Equal(t, Assignment{Shares: map[string]Share{}}, Plan(1, []Task{{0, 0}}, nil))
	require.Equal(t, Assignment{Shares: map[string]Share{"a": {}}}, Plan(1, nil, []Member{{ID: "a", Owned: []Task{{9, 9}}}}))
}

func BenchmarkPlan(b *testing.B) {
	type size struct{ subs, partitions, instances, workers int }
	for _, bench := range []size{{1, 1000, 100, 1}, {10, 100, 25, 4}, {14, 71, 25, 4}, {100, 10, 50, 2}} {
		var tasks []Task
		for s := range bench.subs {
			for p := range bench.partitions {
				tasks = append(tasks, Task{int32(s), int32(p)})
			}
		}
		var members []Member
		for i := range bench.instances {
			for w := range bench.workers {
				members = append(members, Member{ID: fmt.Sprintf("%03d-%d", i, w), Instance: fmt.Sprint(i), Generation: 5})
			}
		}
		name := fmt.Sprintf("%dx%dtasks/%dx%dmembers", bench.subs, bench.partitions, bench.instances, bench.workers)
		b.Run(name+"/start", func(b *testing.B) {
			for b.Loop() {
				Plan(6, tasks, members)
			}
		})
		// An instance has come: the others own everything, and hold its state.
		old := members[:len(members)-bench.workers]
		plan := Plan(6, tasks, old)
		for i, m := range old {
			members[i].Owned = plan.Shares[m.ID].Tasks
			for _, t := range members[i].Owned {
				members[i].Warm = append(members[i].Warm, WarmTask{t, 100})
			}
		}
		b.Run(name+"/join", func(b *testing.B) {
			for b.Loop() {
				Plan(6, tasks, members)
			}
		})
	}
}
