package assign

// quotas says how many tasks of each sub-topology each member is to have, so that everything is even to within one task: the
// members' shares of every sub-topology, the members' loads, and the instances' loads in proportion to their members. Such quotas
// always exist: equal fractions satisfy all bounds, and a flow network with whole bounds that has a fractional solution has a whole
// one. Among them it finds those that take the fewest tasks from their owners and then those that leave the most tasks where their
// state is.
//
// place gives each member's instance (0, 1, ...), counts the tasks of each sub-topology. By member and sub-topology, own counts the
// tasks that it runs, pull those without owner whose state is at hand. The result is indexed like own.
func quotas(place, counts []int, own, pull [][]int) [][]int {
	// Each member gets base = counts/members of a sub-topology. Only who gets one of the counts%members left over is to be decided,
	// a yes or no per member and sub-topology: the flow instance -> member -> sub-topology.
	members, subs := len(place), len(counts)
	instances, extras := make([]int, members), 0
	for _, i := range place {
		instances[i]++
	}
	for _, n := range counts {
		extras += n % members
	}
	source := members + members + subs
	sink := source + 1
	n := newNetwork(sink + 1)
	keep := int64(members*subs + 1) // one task kept outweighs any number of tasks pulled
	must := keep * keep             // and a lower bound outweighs both
	for i, size := range instances {
		if size > 0 {
			n.bounded(source, members+i, extras*size, members, must)
		}
	}
	for m, i := range place {
		n.bounded(members+i, m, extras, members, must)
	}
	chosen := make([][]int, members)
	for m := range place {
		chosen[m] = make([]int, subs)
		for s, count := range counts {
			base, gain := count/members, int64(0)
			if own[m][s] > base {
				gain = keep
			} else if own[m][s]+pull[m][s] > base {
				gain = 1
			}
			chosen[m][s] = n.connect(m, members+members+s, 1, -gain)
		}
	}
	for s, count := range counts {
		n.connect(members+members+s, sink, count%members, 0)
	}
	n.run(source, sink)
	quota := make([][]int, members)
	for m := range place {
		quota[m] = make([]int, subs)
		for s, count := range counts {
			quota[m][s] = count/members + n.carried(chosen[m][s])
		}
	}
	return quota
}

// bounded adds an arc that must carry floor(share/of) units and may carry ceil(share/of).
func (n *network) bounded(from, to, share, of int, must int64) {
	n.connect(from, to, share/of, -must)
	if share%of > 0 {
		n.connect(from, to, 1, 0)
	}
}
