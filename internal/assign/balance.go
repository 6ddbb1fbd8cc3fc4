package assign

import (
	"cmp"
	"slices"
)

// balance sets runs: within the quotas, tasks stay with their owners, then go to where their state is, then to the least loaded.
// Room that is left belongs to tasks that their owners have yet to release.
func (p *planner) balance() {
	room := p.quotas()
	p.keep(room)
	var homeless []int
	for t := range p.tasks {
		if p.owner[t] != nobody || p.withheld[t] {
			continue
		}
		if m := p.warmest(t, room); m != nobody {
			p.give(t, m, room)
		} else {
			homeless = append(homeless, t)
		}
	}
	for _, t := range homeless {
		if m := p.leastLoaded(t, room, func(int) bool { return true }); m != nobody {
			p.give(t, m, room)
		}
	}
}

// quotas returns the room that every member has, by member and sub-topology.
func (p *planner) quotas() [][]int {
	own, pull := p.table(), p.table()
	counts := make([]int, len(p.subs))
	for t, task := range p.tasks {
		counts[p.subs[task.Sub]]++
		if m := p.owner[t]; m != nobody {
			own[m][p.subs[task.Sub]]++
		}
	}
	// A task without owner pulls for one member of the instance that holds its state: the one with the fewest tasks of its kind.
	for t, task := range p.tasks {
		if p.owner[t] != nobody || p.withheld[t] || len(p.warm[t]) == 0 {
			continue
		}
		s, best := p.subs[task.Sub], nobody
		for _, m := range p.open {
			if p.places[p.members[m].Instance] == p.warm[t][0].place && (best == nobody || own[m][s]+pull[m][s] < own[best][s]+pull[best][s]) {
				best = m
			}
		}
		if best != nobody {
			pull[best][s]++
		}
	}
	place := make([]int, len(p.open))
	openOwn, openPull := make([][]int, len(p.open)), make([][]int, len(p.open))
	seen := map[string]int{}
	for i, m := range p.open {
		instance := p.members[m].Instance
		if _, known := seen[instance]; !known {
			seen[instance] = len(seen)
		}
		place[i], openOwn[i], openPull[i] = seen[instance], own[m], pull[m]
	}
	room := p.table()
	for i, quota := range quotas(place, counts, openOwn, openPull) {
		room[p.open[i]] = quota
	}
	return room
}

// keep leaves owners the tasks that fit their quotas. Those whose state another instance holds too are the first to go.
func (p *planner) keep(room [][]int) {
	byOwner := make([][]int, len(p.members))
	for t, m := range p.owner {
		if m != nobody {
			byOwner[m] = append(byOwner[m], t)
		}
	}
	elsewhere := func(t int) int {
		place := p.places[p.members[p.owner[t]].Instance]
		if slices.ContainsFunc(p.warm[t], func(w warmPlace) bool { return w.place != place }) {
			return 1
		}
		return 0
	}
	for m, tasks := range byOwner {
		slices.SortFunc(tasks, func(a, b int) int { return cmp.Or(cmp.Compare(elsewhere(a), elsewhere(b)), cmp.Compare(a, b)) })
		for _, t := range tasks {
			if room[m][p.subs[p.tasks[t].Sub]] > 0 {
				p.give(t, m, room)
			}
		}
	}
}

// warmest returns a member with room on the instance that holds the newest state of a task, or nobody.
func (p *planner) warmest(t int, room [][]int) int {
	for _, w := range p.warm[t] {
		if m := p.leastLoaded(t, room, func(m int) bool { return p.places[p.members[m].Instance] == w.place }); m != nobody {
			return m
		}
	}
	return nobody
}

// leastLoaded returns the eligible member with room for a task that has the fewest tasks, or nobody.
func (p *planner) leastLoaded(t int, room [][]int, eligible func(member int) bool) int {
	s, best := p.subs[p.tasks[t].Sub], nobody
	for _, m := range p.open {
		if room[m][s] > 0 && eligible(m) && (best == nobody || p.load[m] < p.load[best]) {
			best = m
		}
	}
	return best
}

// give makes a member run a task.
func (p *planner) give(t, m int, room [][]int) {
	p.runs[t] = m
	p.load[m]++
	room[m][p.subs[p.tasks[t].Sub]]--
}

// table returns zeros by member and sub-topology.
func (p *planner) table() [][]int {
	table := make([][]int, len(p.members))
	for m := range table {
		table[m] = make([]int, len(p.subs))
	}
	return table
}
