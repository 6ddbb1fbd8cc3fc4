package assign

// nobody is the owner of a task that no member may go on running.
const nobody = -1

// claims is what the members' claims amount to, before any balancing. Tasks are indexes into the plan's tasks, members into its
// members.
type claims struct {
	owner    []int  // by task: the member that rightfully runs it now, or nobody
	withheld []bool // by task: no rightful owner, but somebody who must give it up first
	rejoin   []bool // by member: holds up a withheld task until it joins again
}

// settle weighs the claims of members on tasks for the plan of generation, by the rules in the package's documentation. A claim of
// a refused member never counts, and always holds the task back: it is about to lose it.
func settle(generation int32, index map[Task]int, members []Member) claims {
	c := claims{
		owner:    make([]int, len(index)),
		withheld: make([]bool, len(index)),
		rejoin:   make([]bool, len(members)),
	}
	valid := make([][]int, len(index))
	void := make([][]int, len(index))
	for m, member := range members {
		for _, task := range sortedTasks(member.Owned) {
			t, known := index[task]
			switch {
			case !known:
			case !member.Refused && member.Generation == generation-1:
				valid[t] = append(valid[t], m)
			default:
				void[t] = append(void[t], m)
			}
		}
	}
	for t := range c.owner {
		c.owner[t] = nobody
		if len(valid[t]) == 1 {
			c.owner[t] = valid[t][0]
			continue
		}
		for _, m := range append(valid[t], void[t]...) {
			c.withheld[t] = true
			c.rejoin[m] = true
		}
	}
	return c
}
