package assign

import "slices"

// An Ownership is what a member knows of its tasks at one moment. It does not change; its slices must not be written to.
type Ownership struct {
	// Seq counts the moments: it grows whenever anything below has changed.
	Seq uint64
	// Tasks are those that the member runs, sorted.
	Tasks []Grant
	// Releasing are those that the last assignment took away to hand them on later, sorted. They may still be finished and
	// committed; once the client has joined again they are gone.
	Releasing []Grant
	// Generation is the newest generation in which the group is known to have left the tasks to this member; -1 before the first.
	Generation int32
	// Rejoin says that a task waits for this member to join again and that the client will not do so by itself; see
	// Balancer.OnAssigned.
	Rejoin bool
	// Err is why the last assignment could not be followed: a *TopologyError, or what was wrong with it. Nil otherwise.
	Err error
}

// A Grant is a task that a member runs.
type Grant struct {
	Task
	// Since is the Seq at which the member got the task. If it differs from what the worker runs, the task was away in between: what
	// the worker has of it is void, and it starts over at the committed offset.
	Since uint64
}

// Holds reports whether the member may still process and commit a task that it was given in this grant.
func (o Ownership) Holds(g Grant) bool {
	for _, grants := range [][]Grant{o.Tasks, o.Releasing} {
		if i, found := slices.BinarySearchFunc(grants, g.Task, compareGrant); found {
			return grants[i].Since == g.Since
		}
	}
	return false
}

func compareGrant(g Grant, t Task) int { return compareTasks(g.Task, t) }

// MayCommit reports whether offsets of the grants that o Holds may be committed under a generation, which the caller must have read with
// kgo.Client.GroupMetadata before it took o. Kafka only checks that member and generation are the current ones. That is not enough:
// a member that was thrown out, while another ran its tasks, and has joined again is current too, before it hears that the tasks are
// no longer its own. Tasks are known to be held in Generation; and in the generation after it, since the join for that one carried
// the claims.
func (o Ownership) MayCommit(generation int32) bool {
	return o.Generation >= 0 && (generation == o.Generation || generation == o.Generation+1)
}
