package assign

import (
	"cmp"
	"slices"
	"strings"
)

// A Share is what one plan says to one member.
type Share struct {
	Tasks   []Task // the tasks it may run now, sorted
	Release []Task // its tasks that it is to give up, sorted; nobody else gets them before it has joined again
	Rejoin  bool   // whether a task waits for this member to join again
}

// An Assignment is a plan: who runs what in one generation.
type Assignment struct {
	Shares   map[string]Share // by Member.ID; every member has one
	Withheld []Task           // the tasks that nobody may run until somebody has given them up, sorted
}

// Plan makes the plan of a generation for tasks. It is a pure function of its arguments, whatever their order.
//
// Every task goes to one member or is withheld (see the package's documentation for when). Everything is even to within one task:
// the load of members, each member's part of every sub-topology, and the load of instances in proportion to their members. Among
// such plans it takes one that moves the fewest tasks. A task without owner goes to a member of the instance whose state for it is
// newest, if that instance has room, else to the least loaded member. A plan whose members have just followed an earlier one moves
// nothing, so a change is through after two generations.
//
// Of members with the same ID the first counts.
func Plan(generation int32, tasks []Task, members []Member) Assignment {
	p := newPlanner(generation, tasks, members)
	if len(p.open) > 0 {
		p.balance()
	}
	return p.assignment()
}

// keepClaims makes a plan that moves nothing: every member keeps the tasks it rightfully runs. It is what a leader can do for
// members whose topology it does not know.
func keepClaims(generation int32, members []Member) Assignment {
	var claimed []Task
	for _, m := range members {
		claimed = append(claimed, m.Owned...)
	}
	p := newPlanner(generation, claimed, members)
	copy(p.runs, p.owner)
	return p.assignment()
}

// A planner is the working state of one plan. Tasks and members are indexes.
type planner struct {
	claims
	tasks   []Task         // sorted
	members []Member       // in the order in which they are served when nothing else decides
	index   map[Task]int   // of tasks
	open    []int          // the members that may get tasks
	runs    []int          // by task: the member that runs it under this plan, or nobody
	load    []int          // by member: how many tasks it has in this plan so far
	warm    [][]warmPlace  // by task: the instances that hold its state, newest first
	subs    map[int32]int  // sub-topology id -> 0, 1, ...
	places  map[string]int // instance -> 0, 1, ...
}

// A warmPlace is an instance that holds a task's state.
type warmPlace struct {
	place    int
	position int64
}

func newPlanner(generation int32, tasks []Task, members []Member) *planner {
	p := &planner{
		tasks: sortedTasks(tasks), members: serviceOrder(members), index: map[Task]int{}, subs: map[int32]int{}, places: map[string]int{},
	}
	for t, task := range p.tasks {
		p.index[task] = t
		if _, known := p.subs[task.Sub]; !known {
			p.subs[task.Sub] = len(p.subs)
		}
	}
	for m, member := range p.members {
		if _, known := p.places[member.Instance]; !known {
			p.places[member.Instance] = len(p.places)
		}
		if !member.Refused {
			p.open = append(p.open, m)
		}
	}
	p.claims = settle(generation, p.index, p.members)
	p.load = make([]int, len(p.members))
	p.runs = make([]int, len(p.tasks))
	for t := range p.runs {
		p.runs[t] = nobody
	}
	p.findWarm()
	return p
}

// serviceOrder returns the members in the order in which they are considered: the first worker of every instance, then the second
// of each, and so on, so that what cannot be even does not pile up on the instance that sorts first.
func serviceOrder(members []Member) []Member {
	sorted := slices.Clone(members)
	slices.SortStableFunc(sorted, func(a, b Member) int { return strings.Compare(a.ID, b.ID) })
	sorted = slices.CompactFunc(sorted, func(a, b Member) bool { return a.ID == b.ID })
	rank, next := map[string]int{}, map[string]int{}
	for _, m := range sorted {
		rank[m.ID] = next[m.Instance]
		next[m.Instance]++
	}
	slices.SortFunc(sorted, func(a, b Member) int {
		return cmp.Or(cmp.Compare(rank[a.ID], rank[b.ID]), strings.Compare(a.Instance, b.Instance), strings.Compare(a.ID, b.ID))
	})
	return sorted
}

// findWarm lists, per task, where its state is. The members of an instance may each report the instance's state; the newest counts.
func (p *planner) findWarm() {
	p.warm = make([][]warmPlace, len(p.tasks))
	for _, member := range p.members {
		place := p.places[member.Instance]
		for _, w := range member.Warm {
			t, known := p.index[w.Task]
			if !known {
				continue
			}
			i := slices.IndexFunc(p.warm[t], func(w warmPlace) bool { return w.place == place })
			if i < 0 {
				p.warm[t] = append(p.warm[t], warmPlace{place, w.Position})
			} else {
				p.warm[t][i].position = max(p.warm[t][i].position, w.Position)
			}
		}
	}
	for _, at := range p.warm {
		slices.SortFunc(at, func(a, b warmPlace) int {
			return cmp.Or(cmp.Compare(b.position, a.position), cmp.Compare(a.place, b.place))
		})
	}
}

// assignment writes the plan down: whatever an owner does not keep, it is to release.
func (p *planner) assignment() Assignment {
	a := Assignment{Shares: make(map[string]Share, len(p.members))}
	shares := make([]Share, len(p.members))
	for m := range shares {
		shares[m].Rejoin = p.rejoin[m]
	}
	for t, task := range p.tasks {
		switch owner := p.owner[t]; {
		case p.runs[t] != nobody:
			m := p.runs[t]
			shares[m].Tasks = append(shares[m].Tasks, task)
		case owner != nobody:
			shares[owner].Release = append(shares[owner].Release, task)
			shares[owner].Rejoin = true
			a.Withheld = append(a.Withheld, task)
		case p.withheld[t]:
			a.Withheld = append(a.Withheld, task)
		}
	}
	for m, member := range p.members {
		a.Shares[member.ID] = shares[m]
	}
	return a
}
