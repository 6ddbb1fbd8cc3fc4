package assign

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// A simGroup models a broker's classic group and the clients in it, as kgo drives their balancers. It processes too: every task has
// a committed offset, which each commit must advance from exactly where the member stands.
type simGroup struct {
	t          *rapid.T
	topology   []SubTopology
	tasks      []Task
	generation int32
	members    []*simMember // those that the broker knows
	outside    []*simMember // those that it has thrown out and that have not noticed or not returned
	leader     *simMember
	stable     bool // the generation's assignments are out and the broker knows no reason for another
	names      int
	committed  map[Task]int
}

type simMember struct {
	b        *Balancer
	id       string
	instance *string // the static id
	current  map[string][]int32
	joined   int32 // the generation of the last join's response
	metadata []byte
	stored   []byte // the broker's: its assignment in the group's generation
	waiting  bool   // must join: new, told to, or has revoked something
	stale    bool   // missed a join since its last assignment, or was thrown out: what it takes for its own need not be
	position map[Task]simPosition
}

type simPosition struct {
	grant  Grant
	offset int
}

func newSimGroup(t *rapid.T) *simGroup {
	g := &simGroup{t: t, committed: map[Task]int{}, topology: []SubTopology{
		{ID: 0, Topics: []string{"a", "b"}, Partitions: 5, Counts: map[string]int32{"b": 3}},
		{ID: 1, Topics: []string{"c"}, Partitions: 3},
	}}
	g.tasks = newLayout(g.topology).tasks
	return g
}

func (g *simGroup) name() string {
	g.names++
	return fmt.Sprintf("%c%02d", 'a'+rapid.IntRange(0, 25).Draw(g.t, "name"), g.names)
}

func (g *simGroup) newMember(host string, instance *string) *simMember {
	b, err := New(Config{Topology: g.topology, Instance: host})
	require.NoError(g.t, err)
	return &simMember{b: b, id: g.name(), instance: instance, joined: -1, waiting: true, position: map[Task]simPosition{}}
}

func (g *simGroup) join() {
	m := g.newMember(fmt.Sprint("host", rapid.IntRange(0, 2).Draw(g.t, "host")), nil)
	if rapid.Bool().Draw(g.t, "static") {
		instance := g.name()
		m.instance = &instance
	}
	g.members, g.stable = append(g.members, m), false
}

func (g *simGroup) pick(from []*simMember) *simMember {
	if len(from) == 0 {
		return nil
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(g.t, "member")]
}

// remove is what the broker does when a member leaves or its session ends. The others are told to join again.
func (g *simGroup) remove(m *simMember) {
	g.members = slices.DeleteFunc(g.members, func(x *simMember) bool { return x == m })
	g.stable = false
	if g.leader == m {
		g.leader = nil
	}
	for _, other := range g.members {
		other.waiting = true
	}
}

// leave ends a member for good, by leaving or by dying.
func (g *simGroup) leave() {
	if m := g.pick(g.members); m != nil {
		g.remove(m)
	}
}

// throwOut lets a member's session run out while it lives on: it hears of it in a heartbeat, or not before it joins.
func (g *simGroup) throwOut() {
	m := g.pick(g.members)
	if m == nil {
		return
	}
	g.remove(m)
	m.stale = true
	g.outside = append(g.outside, m)
	if rapid.Bool().Draw(g.t, "hears") {
		m.lose()
	}
}

// comeBack lets a member that was thrown out join again: first with its old id, which is unknown now, then without.
func (g *simGroup) comeBack() {
	m := g.pick(g.outside)
	if m == nil {
		return
	}
	g.outside = slices.DeleteFunc(g.outside, func(x *simMember) bool { return x == m })
	m.b.JoinGroupMetadata(nil, m.current, m.joined)
	m.id, m.waiting = g.name(), true
	g.members, g.stable = append(g.members, m), false
}

// restart replaces a static member by a new process. In a stable group the broker replays its stored assignment.
func (g *simGroup) restart() {
	i := slices.IndexFunc(g.members, func(m *simMember) bool { return m.instance != nil })
	if i < 0 {
		return
	}
	old := g.members[i]
	m := g.newMember(old.b.cfg.Instance, old.instance)
	g.members[i] = m
	if g.leader == old {
		g.leader = m
	}
	if g.stable && old.stored != nil {
		m.metadata, m.stored, m.waiting = m.b.JoinGroupMetadata(nil, nil, -1), old.stored, false
		m.joined = g.generation
		m.sync(g.t)
		return
	}
	g.stable = false
	for _, other := range g.members {
		other.waiting = true
	}
}

// round takes the group through one join and one sync; calm ones go without mishap.
func (g *simGroup) round(calm bool) {
	mishap := func(what string) bool { return !calm && rapid.IntRange(0, 3).Draw(g.t, what) == 0 }
	var joined []*simMember
	for _, m := range slices.Clone(g.members) {
		if m.metadata != nil && mishap("misses the join") {
			m.stale = true
			if m.instance == nil || g.leader == m {
				g.remove(m)
				g.outside = append(g.outside, m)
			}
			continue // Kafka keeps a static member with what it said when it last joined
		}
		m.metadata = m.b.JoinGroupMetadata(nil, m.current, m.joined)
		m.waiting = false
		joined = append(joined, m)
	}
	if len(joined) == 0 {
		return
	}
	g.generation++
	if g.leader == nil {
		g.leader = g.pick(joined)
	}
	for _, m := range joined {
		m.joined = g.generation
		g.someCommit()
	}
	plan := g.plan()
	if mishap("the leader's sync fails") {
		plan = nil
	}
	g.stable = plan != nil
	for _, m := range g.members {
		m.stored = plan[m.id]
		if m.joined != g.generation {
			m.waiting = true // it will hear of the new generation
			continue
		}
		if m.stored == nil || mishap("sync fails") {
			m.waiting, g.stable = true, false
			continue
		}
		g.someCommit()
		m.sync(g.t)
	}
}

func (g *simGroup) plan() map[string][]byte {
	var members []kmsg.JoinGroupResponseMember
	for _, m := range g.members {
		members = append(members, kmsg.JoinGroupResponseMember{MemberID: m.id, InstanceID: m.instance, ProtocolMetadata: m.metadata})
	}
	return lead(g.t, g.leader.b, g.generation, members)
}

// lead has a balancer plan a generation, the way kgo's balanceGroup does.
func lead(t require.TestingT, b *Balancer, generation int32, members []kmsg.JoinGroupResponseMember) map[string][]byte {
	mb, topics, err := b.MemberBalancer(members)
	require.NoError(t, err)
	require.Empty(t, topics, "the leader needs no metadata")
	mb.(kgo.GroupMemberBalancerInfo).SetBalanceInfo(kgo.BalanceInfo{Generation: generation})
	plan := map[string][]byte{}
	for _, a := range mb.Balance(nil).IntoSyncAssignment() {
		plan[a.MemberID] = a.MemberAssignment
	}
	return plan
}

// sync takes over an assignment as kgo does: what is lost is revoked, and then the member joins again.
func (m *simMember) sync(t require.TestingT) {
	old, seq := m.current, m.b.Owned().Seq
	assigned, err := m.b.ParseSyncAssignment(m.stored)
	if err != nil {
		m.lose()
		return
	}
	for _, grant := range m.b.Owned().Tasks {
		require.False(t, grant.Since > seq && covers(old, m.b.Partitions(grant.Task)),
			"%s gets %v anew, but its client, which has had the partitions all along, fetches on from where it is", m.id, grant.Task)
	}
	m.current, m.stale = assigned, false
	m.waiting = m.b.Owned().Rejoin || !covers(assigned, old)
}

// lose is kgo's way with any fatal error of a session.
func (m *simMember) lose() {
	//lint:ignore SA1012 nil means: do not wait
	m.b.OnLost(nil, nil, nil)
	m.current, m.waiting = nil, true
}

func (g *simGroup) someCommit() {
	if rapid.Bool().Draw(g.t, "commits") {
		g.commit(g.pick(slices.Concat(g.members, g.outside)))
	}
}

// commit has a member process one record of each task it holds and commit, which the broker takes from members of the generation.
func (g *simGroup) commit(m *simMember) {
	if m == nil {
		return
	}
	generation := m.joined
	own := m.b.Owned()
	for _, grant := range own.Tasks {
		if at, known := m.position[grant.Task]; !known || at.grant != grant {
			m.position[grant.Task] = simPosition{grant, g.committed[grant.Task]}
		}
	}
	if !own.MayCommit(generation) || generation != g.generation || !slices.Contains(g.members, m) {
		return
	}
	for task, at := range m.position {
		if own.Holds(at.grant) {
			require.Equal(g.t, g.committed[task], at.offset, "%s commits %v of generation %d from the wrong offset", m.id, task, generation)
			g.committed[task]++
			m.position[task] = simPosition{at.grant, at.offset + 1}
		}
	}
}

// check looks for tasks with two owners, or with two members whose commits the broker would take.
func (g *simGroup) check() {
	runs, commits := map[Task]string{}, map[Task]string{}
	for _, m := range g.members {
		own := m.b.Owned()
		for _, grant := range slices.Concat(own.Tasks, own.Releasing) {
			if m.joined == g.generation && own.MayCommit(m.joined) {
				require.NotContains(g.t, commits, grant.Task, "%s may commit %v too", m.id, grant.Task)
				commits[grant.Task] = m.id
			}
		}
		for _, grant := range own.Tasks {
			if !m.stale && m.joined == g.generation {
				require.NotContains(g.t, runs, grant.Task, "%s runs %v too", m.id, grant.Task)
				runs[grant.Task] = m.id
			}
		}
	}
}

// converge lets everybody return and counts the rounds until nobody has a reason to join.
func (g *simGroup) converge() int {
	for len(g.outside) > 0 {
		g.comeBack()
	}
	rounds := 0
	for ; slices.ContainsFunc(g.members, func(m *simMember) bool { return m.waiting }); rounds++ {
		require.Less(g.t, rounds, 10, "the group rebalances for ever")
		g.round(true)
		g.check()
	}
	return rounds
}

// TestModel is the proof of the package: whatever happens, no task has two owners, none is committed from a wrong offset, and once
// nothing more happens every task has an owner, and within three rounds of the last change the group is even.
func TestModel(t *testing.T) {
	for range 5 { // of rapid's hundred checks each
		testModel(t)
	}
}

func testModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newSimGroup(t)
		t.Repeat(map[string]func(*rapid.T){
			"join":     func(*rapid.T) { g.join() },
			"leave":    func(*rapid.T) { g.leave() },
			"throwOut": func(*rapid.T) { g.throwOut() },
			"comeBack": func(*rapid.T) { g.comeBack() },
			"restart":  func(*rapid.T) { g.restart() },
			"round":    func(*rapid.T) { g.round(false) },
			"calm":     func(*rapid.T) { g.round(true) },
			"commit":   func(*rapid.T) { g.someCommit() },
			"":         func(*rapid.T) { g.check() },
		})
		if len(g.members)+len(g.outside) > 0 {
			g.converge()
			g.requireWhole()
		}
		g.join()
		require.LessOrEqual(t, g.converge(), 3)
		g.requireWhole()

		before := g.planned()
		g.round(true)
		require.Equal(t, before, g.planned(), "a round for nothing changed something")
	})
}

// requireWhole holds the group to run every task, evenly.
func (g *simGroup) requireWhole() {
	runs := map[Task]string{}
	for _, m := range g.members {
		for _, grant := range m.b.Owned().Tasks {
			runs[grant.Task] = m.id
		}
	}
	require.Len(g.t, runs, len(g.tasks), "some tasks have no owner")
	require.NoError(g.t, even(runs, g.planned()))
}

// planned returns the members with what they own.
func (g *simGroup) planned() (members []Member) {
	for _, m := range g.members {
		member := Member{ID: m.id, Instance: m.b.cfg.Instance}
		for _, grant := range m.b.Owned().Tasks {
			member.Owned = append(member.Owned, grant.Task)
		}
		members = append(members, member)
	}
	return members
}
