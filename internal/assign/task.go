package assign

import (
	"cmp"
	"fmt"
	"slices"
)

// A Task is one sub-topology on one partition number: the unit of assignment.
type Task struct {
	Sub       int32 // the sub-topology's id
	Partition int32 // the partition number
}

// String returns the task as sub-topology and partition, like "1_7".
func (t Task) String() string { return fmt.Sprintf("%d_%d", t.Sub, t.Partition) }

// A WarmTask is a task whose state an instance holds locally.
type WarmTask struct {
	Task     Task
	Position int64 // up to where the local state is current: the higher, the less there is to restore; not negative
}

// A Member is one worker of the group as the leader sees it when it makes a plan.
type Member struct {
	ID         string     // unique in the group and stable, so that plans are too
	Instance   string     // the process: its members share local state
	Owned      []Task     // the tasks that the member claims to run
	Generation int32      // the generation up to which the claims are unbroken; see the package's documentation
	Warm       []WarmTask // the tasks whose state the member's instance holds
	Refused    bool       // gets nothing: its program is not the group's; its claims still hold others back
}

// compareTasks orders by sub-topology, then partition.
func compareTasks(a, b Task) int {
	return cmp.Or(cmp.Compare(a.Sub, b.Sub), cmp.Compare(a.Partition, b.Partition))
}

// sortedTasks returns a sorted copy of tasks without duplicates.
func sortedTasks(tasks []Task) []Task {
	tasks = slices.Clone(tasks)
	slices.SortFunc(tasks, compareTasks)
	return slices.Compact(tasks)
}
