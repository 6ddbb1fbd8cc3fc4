package assign

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// genGroup draws a small group with claims of every kind on a small topology.
func genGroup(t *rapid.T, maxTasks, maxMembers int) (tasks []Task, members []Member) {
	n := rapid.IntRange(1, maxTasks).Draw(t, "tasks")
	for i := range n {
		sub := int32(rapid.IntRange(0, 2).Draw(t, "sub"))
		tasks = append(tasks, Task{sub, int32(i)})
	}
	for i := range rapid.IntRange(1, maxMembers).Draw(t, "members") {
		members = append(members, Member{
			ID:         fmt.Sprint("m", i),
			Instance:   fmt.Sprint("i", rapid.IntRange(0, 2).Draw(t, "instance")),
			Generation: int32(rapid.SampledFrom([]int{5, 5, 5, 5, 4, 6, -1}).Draw(t, "generation")),
			Refused:    rapid.IntRange(0, 9).Draw(t, "refused") == 0,
		})
	}
	for _, task := range tasks {
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 1, 2}).Draw(t, "claims") {
			m := &members[rapid.IntRange(0, len(members)-1).Draw(t, "claimant")]
			m.Owned = append(m.Owned, task)
		}
		if rapid.Bool().Draw(t, "warm") {
			m := &members[rapid.IntRange(0, len(members)-1).Draw(t, "warm at")]
			m.Warm = append(m.Warm, WarmTask{task, int64(rapid.IntRange(0, 3).Draw(t, "position"))})
		}
	}
	return tasks, members
}

// owners returns, by task, who rightfully runs it before the plan: a restatement of settle's rules, written the other way round.
func owners(generation int32, tasks []Task, members []Member) (owner map[Task]string, claimed map[Task]bool) {
	owner, claimed = map[Task]string{}, map[Task]bool{}
	for _, task := range tasks {
		var valid []string
		for _, m := range members {
			if slices.Contains(m.Owned, task) {
				claimed[task] = true
				if m.Generation == generation-1 && !m.Refused {
					valid = append(valid, m.ID)
				}
			}
		}
		if len(valid) == 1 {
			owner[task] = valid[0]
		}
	}
	return owner, claimed
}

func TestPlanIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, members := genGroup(t, 20, 8)
		plan := Plan(6, tasks, members)
		owner, claimed := owners(6, tasks, members)
		seen := map[Task]string{}
		for _, m := range members {
			share, ok := plan.Shares[m.ID]
			require.True(t, ok, "no share for %s", m.ID)
			require.False(t, m.Refused && len(share.Tasks) > 0, "a refused member runs something")
			for _, task := range share.Tasks {
				require.NotContains(t, seen, task, "two members run a task")
				require.Contains(t, tasks, task)
				seen[task] = m.ID
				require.True(t, owner[task] == m.ID || !claimed[task], "%s runs %v while another member may", m.ID, task)
			}
			for _, task := range share.Release {
				require.Equal(t, m.ID, owner[task], "only its own can be released")
				require.Contains(t, plan.Withheld, task)
			}
		}
		for _, task := range plan.Withheld {
			require.NotContains(t, seen, task, "a withheld task runs")
			require.True(t, claimed[task], "%v is withheld though nobody has it", task)
		}
		if slices.ContainsFunc(members, func(m Member) bool { return !m.Refused }) {
			require.Len(t, tasks, len(seen)+len(plan.Withheld), "a task that nobody has was given to nobody")
		}
	})
}

// TestPlanSettles follows a plan, as honest members do, until it no longer changes.
func TestPlanSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, members := genGroup(t, 20, 8)
		members = slices.DeleteFunc(members, func(m Member) bool { return m.Refused })
		if len(members) == 0 {
			return
		}
		follow(Plan(6, tasks, members), 6, members)
		second := Plan(7, tasks, members)
		require.Empty(t, second.Withheld)
		for _, m := range members {
			for _, task := range m.Owned {
				require.Contains(t, second.Shares[m.ID].Tasks, task, "the second plan moves what the first gave")
			}
		}
		require.NoError(t, even(runners(second), members))
		follow(second, 7, members)
		require.Equal(t, second, Plan(8, tasks, members), "nothing has changed, yet the plan has")
	})
}

func follow(plan Assignment, generation int32, members []Member) {
	for i := range members {
		members[i].Owned, members[i].Generation = plan.Shares[members[i].ID].Tasks, generation
	}
}

func runners(plan Assignment) map[Task]string {
	runs := map[Task]string{}
	for id, share := range plan.Shares {
		for _, task := range share.Tasks {
			runs[task] = id
		}
	}
	return runs
}

// even says what about a complete assignment is not even.
func even(runs map[Task]string, members []Member) error {
	load, parts, subs, places := map[string]int{}, map[string]int{}, map[int32]int{}, map[string][]string{}
	for task, id := range runs {
		load[id]++
		subs[task.Sub]++
		parts[fmt.Sprint(task.Sub, id)]++
	}
	within := func(n, share, of int) bool { return n >= share/of && n <= (share+of-1)/of }
	for _, m := range members {
		places[m.Instance] = append(places[m.Instance], m.ID)
		if !within(load[m.ID], len(runs), len(members)) {
			return fmt.Errorf("%s has %d of %d tasks", m.ID, load[m.ID], len(runs))
		}
		for sub, n := range subs {
			if !within(parts[fmt.Sprint(sub, m.ID)], n, len(members)) {
				return fmt.Errorf("%s has %d of %d tasks of sub-topology %d", m.ID, parts[fmt.Sprint(sub, m.ID)], n, sub)
			}
		}
	}
	for instance, ids := range places {
		n := 0
		for _, id := range ids {
			n += load[id]
		}
		if !within(n, len(runs)*len(ids), len(members)) {
			return fmt.Errorf("instance %s has %d of %d tasks", instance, n, len(runs))
		}
	}
	return nil
}

// TestPlanMovesTheFewest compares with every even assignment there is.
func TestPlanMovesTheFewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, members := genGroup(t, 6, 4)
		members = slices.DeleteFunc(members, func(m Member) bool { return m.Refused })
		if len(members) == 0 {
			return
		}
		owner, _ := owners(6, tasks, members)
		kept := 0
		for task, id := range runners(Plan(6, tasks, members)) {
			if owner[task] == id {
				kept++
			}
		}
		best, runs := -1, map[Task]string{}
		var try func(i, n int)
		try = func(i, n int) {
			if i == len(tasks) {
				if n > best && even(runs, members) == nil {
					best = n
				}
				return
			}
			for _, m := range members {
				runs[tasks[i]] = m.ID
				if owner[tasks[i]] == m.ID {
					try(i+1, n+1)
				} else {
					try(i+1, n)
				}
			}
		}
		try(0, 0)
		require.Equal(t, best, kept)
	})
}
