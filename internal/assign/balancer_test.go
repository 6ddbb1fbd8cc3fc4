package assign

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func topologyOf(partitions int32) []SubTopology {
	return []SubTopology{{Topics: []string{"in"}, Partitions: partitions}}
}

// A script drives balancers through chosen generations. Members are known by their index.
type script struct {
	t          *testing.T
	members    []*simMember
	generation int32
}

func (s *script) add(topology []SubTopology, static bool) *simMember {
	b, err := New(Config{Topology: topology, Instance: fmt.Sprint("host", len(s.members))})
	require.NoError(s.t, err)
	m := &simMember{b: b, id: fmt.Sprint("m", len(s.members)), joined: -1}
	if static {
		instance := "static-" + m.id
		m.instance = &instance
	}
	s.members = append(s.members, m)
	return m
}

// round has members join and the first of them plan; unless they are among failing, their syncs succeed.
func (s *script) round(members []*simMember, failing ...*simMember) {
	s.generation++
	var joined []kmsg.JoinGroupResponseMember
	for _, m := range members {
		m.metadata = m.b.JoinGroupMetadata(nil, m.current, m.joined)
		joined = append(joined, kmsg.JoinGroupResponseMember{MemberID: m.id, InstanceID: m.instance, ProtocolMetadata: m.metadata})
		m.joined = s.generation
	}
	plan := lead(s.t, members[0].b, s.generation, joined)
	for _, m := range members {
		m.stored = plan[m.id]
		failed := false
		for _, f := range failing {
			failed = failed || f == m
		}
		if !failed {
			m.sync(s.t)
		}
	}
}

func grants(own Ownership) (tasks []Task) {
	for _, g := range own.Tasks {
		tasks = append(tasks, g.Task)
	}
	return tasks
}

func TestMoveTakesTwoGenerations(t *testing.T) {
	s := &script{t: t}
	a := s.add(topologyOf(2), false)
	s.round(s.members)
	first := a.b.Owned()
	require.Equal(t, Ownership{Seq: 1, Generation: 1, Tasks: []Grant{{Task{0, 0}, 1}, {Task{0, 1}, 1}}}, first)
	require.Equal(t, map[string][]int32{"in": {0, 1}}, a.current)

	b := s.add(topologyOf(2), false)
	s.round(s.members)
	own := a.b.Owned()
	require.Equal(t, Ownership{Seq: 2, Generation: 2, Tasks: first.Tasks[:1], Releasing: first.Tasks[1:]}, own)
	require.True(t, own.Holds(first.Tasks[1]) && own.MayCommit(2), "what is being released may be finished")
	require.Empty(t, b.b.Owned().Tasks)
	require.True(t, a.waiting && !b.waiting)

	s.round(s.members)
	require.Equal(t, Ownership{Seq: 4, Generation: 3, Tasks: first.Tasks[:1]}, a.b.Owned(), "one change at the join, one at the sync")
	require.Equal(t, []Task{{0, 1}}, grants(b.b.Owned()))
	require.False(t, a.b.Owned().Holds(first.Tasks[1]) || a.waiting || b.waiting)
}

// TestFailedSync: a member that joined and whose sync failed is as good an owner as before, under both generations.
func TestFailedSync(t *testing.T) {
	s := &script{t: t}
	a, b := s.add(topologyOf(2), false), s.add(topologyOf(2), false)
	s.round(s.members)
	want := b.b.Owned().Tasks
	for range 3 {
		s.round(s.members, b)
		require.Equal(t, want, b.b.Owned().Tasks)
		require.True(t, b.b.Owned().MayCommit(b.joined))
	}
	s.round(s.members)
	require.Equal(t, want, b.b.Owned().Tasks, "nothing was broken")
	require.Equal(t, []Task{{0, 0}}, grants(a.b.Owned()))
}

// TestThrownOut: a member whose session ran out unnoticed while another ran its task. It is current again once it has joined, and
// still must not commit.
func TestThrownOut(t *testing.T) {
	s := &script{t: t}
	a, b := s.add(topologyOf(2), false), s.add(topologyOf(2), false)
	s.round(s.members)
	lost := b.b.Owned().Tasks[0]
	s.round(s.members[:1])
	require.Len(t, a.b.Owned().Tasks, 2)

	b.id = "m1 again"
	s.round(s.members, b)
	require.True(t, b.b.Owned().Holds(lost), "it has not heard yet")
	require.False(t, b.b.Owned().MayCommit(b.joined))
	s.round(s.members, b)
	require.False(t, b.b.Owned().MayCommit(b.joined), "nor does another join help")
	b.sync(t)
	require.Empty(t, b.b.Owned().Tasks)
	require.Empty(t, b.b.Owned().Releasing, "what was taken since cannot be finished")
	s.round(s.members)
	require.NotEqual(t, lost, b.b.Owned().Tasks[0], "a new grant of the task")
	require.False(t, b.b.Owned().Holds(lost))
}

func TestLostSession(t *testing.T) {
	s := &script{t: t}
	a := s.add(topologyOf(2), false)
	s.round(s.members)
	before := a.b.Owned()
	a.lose()
	require.Equal(t, Ownership{Seq: before.Seq + 1, Generation: -1}, a.b.Owned())
	require.False(t, a.b.Owned().MayCommit(a.joined))
	s.round(s.members)
	require.Equal(t, grants(before), grants(a.b.Owned()))
	require.False(t, a.b.Owned().Holds(before.Tasks[0]))

	// A worker that does not pass OnLost on hears of it when its client joins with nothing in hand.
	b := s.add(topologyOf(2), false)
	s.round(s.members[1:])
	b.current = nil
	b.b.JoinGroupMetadata(nil, nil, b.joined)
	require.Empty(t, b.b.Owned().Tasks)
}

// TestStaticRestart: the broker replays the stored assignment; if that one took a task away, the new process must join again.
func TestStaticRestart(t *testing.T) {
	s := &script{t: t}
	a := s.add(topologyOf(2), true)
	s.round(s.members)
	restarted := s.add(topologyOf(2), false)
	restarted.replay(t, a.stored)
	require.Equal(t, []Task{{0, 0}, {0, 1}}, grants(restarted.b.Owned()))
	require.False(t, restarted.b.Owned().Rejoin)
	require.True(t, restarted.b.Owned().MayCommit(1))

	s.members = s.members[:1]
	s.add(topologyOf(2), false)
	s.round(s.members)
	require.False(t, a.b.Owned().Rejoin, "the client joins again by itself")
	restarted = s.add(topologyOf(2), false)
	restarted.replay(t, a.stored)
	require.Equal(t, []Task{{0, 0}}, grants(restarted.b.Owned()))
	require.Empty(t, restarted.b.Owned().Releasing)
	require.True(t, restarted.b.Owned().Rejoin)
}

// replay has a member take over an assignment that was made earlier, or for another.
func (m *simMember) replay(t *testing.T, stored []byte) {
	m.stored = stored
	m.sync(t)
}

// TestOtherTopology: a running group turns a changed program away, even as its leader.
func TestOtherTopology(t *testing.T) {
	for _, newcomerLeads := range []bool{false, true} {
		s := &script{t: t}
		a, b := s.add(topologyOf(4), false), s.add(topologyOf(4), false)
		s.round(s.members)
		c := s.add(topologyOf(6), false)
		members := s.members
		if newcomerLeads {
			members = []*simMember{c, a, b}
		}
		s.round(members)
		require.Equal(t, []Task{{0, 0}, {0, 2}}, grants(a.b.Owned()))
		require.Equal(t, []Task{{0, 1}, {0, 3}}, grants(b.b.Owned()))
		require.False(t, a.waiting || b.waiting)
		require.Equal(t, map[string][]int32{"in": {0, 2}}, a.current)
		var mismatch *TopologyError
		require.ErrorAs(t, c.b.Owned().Err, &mismatch)
		require.Equal(t, TopologyError{Own: Fingerprint(topologyOf(6)), Group: Fingerprint(topologyOf(4)), Refused: true}, *mismatch)
		require.ErrorContains(t, mismatch, "1 sub-topologies, 4 tasks")

		// When the last of the old have gone, the new program has the group.
		c.current = nil
		s.round([]*simMember{c})
		require.Len(t, c.b.Owned().Tasks, 6)
		require.NoError(t, c.b.Owned().Err)
	}
}

// TestForeignLeaderKeepsNoDoubts: what a leader of another topology cannot name it takes away rather than guess.
func TestForeignLeaderKeepsNoDoubts(t *testing.T) {
	s := &script{t: t}
	a, b := s.add(topologyOf(4), false), s.add(topologyOf(4), false)
	s.round(s.members)
	// Both claim 0_1: that cannot be, and a lost its right to it.
	share, err := parseShare(a.stored)
	require.NoError(t, err)
	share.tasks, share.partitions = []Task{{0, 0}, {0, 1}, {0, 2}}, map[string][]int32{"in": {0, 1, 2}}
	a.replay(t, share.encode())
	s.round([]*simMember{s.add(topologyOf(6), false), a, b})
	require.Empty(t, a.b.Owned().Tasks)
	require.Empty(t, b.b.Owned().Tasks)
}

// TestChangedTopologyReplayed: a static member restarted with a changed program gets its old assignment, and asks for a new one.
func TestChangedTopologyReplayed(t *testing.T) {
	s := &script{t: t}
	a := s.add(topologyOf(4), true)
	s.round(s.members)
	changed := s.add(topologyOf(6), false)
	before := changed.b.JoinGroupMetadata(nil, nil, -1)
	changed.replay(t, a.stored)
	var mismatch *TopologyError
	require.ErrorAs(t, changed.b.Owned().Err, &mismatch)
	require.False(t, mismatch.Refused)
	require.NotEqual(t, before, changed.b.JoinGroupMetadata(nil, nil, 1), "equal metadata would get the same answer")
	changed.id = a.id
	s.round([]*simMember{changed})
	require.Len(t, changed.b.Owned().Tasks, 6)
}

// TestRefusedHoldsBack: members of another topology get nothing, and what they still read is given to nobody.
func TestRefusedHoldsBack(t *testing.T) {
	s := &script{t: t}
	other := s.add([]SubTopology{{ID: 3, Topics: []string{"x", "in"}, Partitions: 3, Counts: map[string]int32{"in": 2}}}, false)
	s.round(s.members)
	big := s.add(topologyOf(9), false)
	s.round([]*simMember{big})
	s.generation, other.joined = 2, 2
	share, err := parseShare(other.stored)
	require.NoError(t, err)
	share.generation = 2
	other.replay(t, share.encode())

	// Both hold tasks of generation 2, which can only be if somebody made a mistake. The one with more goes on.
	s.round([]*simMember{big, other})
	require.ErrorContains(t, other.b.Owned().Err, "another topology")
	require.Len(t, big.b.Owned().Tasks, 9)
	fresh := s.add(topologyOf(9), false)
	fresh.current = nil
	other.replay(t, func() []byte { share.generation = 3; return share.encode() }())
	big.lose()
	s.round([]*simMember{big, other, fresh})
	require.ErrorContains(t, big.b.Owned().Err, "another topology", "the only one with tasks decides")
}

func TestUnreadableMember(t *testing.T) {
	s := &script{t: t}
	a := s.add(topologyOf(2), false)
	s.round(s.members)
	s.generation++
	plan := lead(t, a.b, s.generation, []kmsg.JoinGroupResponseMember{
		{MemberID: a.id, ProtocolMetadata: a.b.JoinGroupMetadata(nil, a.current, a.joined)},
		{MemberID: "bad", ProtocolMetadata: []byte{7}},
		{MemberID: a.id, ProtocolMetadata: []byte("listed twice")},
	})
	require.Len(t, plan, 2)
	a.replay(t, plan[a.id])
	require.Len(t, a.b.Owned().Tasks, 2, "the others go on")
	_, err := a.b.ParseSyncAssignment(plan["bad"])
	require.ErrorContains(t, err, "could not read this member's metadata")
}

func TestAssignmentMistakes(t *testing.T) {
	good := shareData{generation: 1, fingerprint: Fingerprint(topologyOf(2)), tasks: []Task{{0, 1}}, partitions: map[string][]int32{"in": {1}}}
	for want, change := range map[string]func(*shareData){
		"":                               func(*shareData) {},
		"assigned task 0_2, which":       func(d *shareData) { d.tasks = []Task{{0, 2}} },
		"assigned task 5_0, which":       func(d *shareData) { d.release = []Task{{5, 0}} },
		"are not those of the tasks":     func(d *shareData) { d.partitions["in"] = []int32{0} },
		"partitions assigned by the gro": func(d *shareData) { d.partitions["other"] = []int32{1} },
		"group runs another topology":    func(d *shareData) { d.fingerprint = "?" },
	} {
		b, err := New(Config{Topology: topologyOf(2)})
		require.NoError(t, err)
		d := good
		d.partitions = map[string][]int32{"in": {1}}
		change(&d)
		assigned, err := b.ParseSyncAssignment(d.encode())
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, good.partitions, assigned)
			continue
		}
		require.ErrorContains(t, err, want)
		require.Equal(t, err, b.Owned().Err)
		require.Nil(t, assigned)
	}
}

func TestWarmTravels(t *testing.T) {
	s := &script{t: t}
	s.add(topologyOf(4), false)
	b := s.add(topologyOf(4), false)
	b.b.cfg.Warm = func() []WarmTask { return []WarmTask{{Task{0, 3}, 7}, {Task{0, 2}, 7}} }
	s.round(s.members)
	require.Equal(t, []Task{{0, 2}, {0, 3}}, grants(b.b.Owned()))
}

// TestRebalanceLoop is the group's part of C85: one of six is slow to sync, so that each round is followed by another.
func TestRebalanceLoop(t *testing.T) {
	s := &script{t: t}
	for range 5 {
		s.add(topologyOf(12), false)
	}
	s.round(s.members)
	slow := s.add(topologyOf(12), false)
	var unmoved []Grant
	for rounds := 0; ; rounds++ {
		require.Less(t, rounds, 5, "not stable within five generations")
		if rounds == 0 {
			s.round(s.members, slow)
			for _, m := range s.members {
				unmoved = append(unmoved, m.b.Owned().Tasks...)
			}
			require.Len(t, unmoved, 10)
		} else {
			s.round(s.members)
		}
		var now []Grant
		waiting := false
		for _, m := range s.members {
			now, waiting = append(now, m.b.Owned().Tasks...), waiting || m.waiting
		}
		require.Subset(t, now, unmoved, "tasks that need not move go on")
		if !waiting {
			require.Len(t, now, 12)
			return
		}
	}
}
