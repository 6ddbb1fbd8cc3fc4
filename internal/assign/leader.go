package assign

import (
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A leader makes one generation's plan for the members that joined it, and writes it as their assignments.
type leader struct {
	layout     layout
	members    []kmsg.JoinGroupResponseMember
	generation int32
}

var _ kgo.GroupMemberBalancerInfo = (*leader)(nil)

// SetBalanceInfo implements kgo.GroupMemberBalancerInfo; the client calls it before Balance.
func (l *leader) SetBalanceInfo(info kgo.BalanceInfo) { l.generation = info.Generation }

// Balance implements kgo.GroupMemberBalancer. The topics' partition counts are the topology's, not those of the moment.
func (l *leader) Balance(map[string]int32) kgo.IntoSyncAssignment {
	parsed := make([]memberData, len(l.members))
	verdicts := make([]verdict, len(l.members))
	for i, m := range l.members {
		var err error
		if parsed[i], err = parseMember(m.ProtocolMetadata); err != nil {
			verdicts[i] = unreadable
		}
	}
	topology := l.groupTopology(parsed, verdicts)
	foreign := topology != l.layout.fingerprint
	planned := make([]Member, len(l.members))
	for i, m := range l.members {
		d := parsed[i]
		if verdicts[i] == accepted && d.fingerprint != topology {
			verdicts[i] = wrongTopology
		}
		planned[i] = Member{
			ID: stableID(m), Instance: d.instance, Owned: d.owned, Generation: d.generation, Warm: d.warm, Refused: verdicts[i] != accepted,
		}
		if planned[i].Refused && !foreign {
			// Its task ids mean something else. What must not be given away is whatever shares a partition, or local state, with them.
			planned[i].Owned = append(l.layout.reading(d.partitions), d.owned...)
		}
	}
	var plan Assignment
	if foreign {
		plan = keepClaims(l.generation, planned)
	} else {
		plan = Plan(l.generation, l.layout.tasks, planned)
	}
	return l.write(plan, planned, parsed, verdicts, topology)
}

// groupTopology returns the fingerprint that the group goes by: that of the members with the most tasks in hand, so that a running
// group is not stopped by a newcomer that happens to lead it; our own if nobody has any.
func (l *leader) groupTopology(parsed []memberData, verdicts []verdict) string {
	inHand := map[string]int{l.layout.fingerprint: 0}
	best := l.layout.fingerprint
	for i, d := range parsed {
		if verdicts[i] == accepted && d.generation == l.generation-1 {
			inHand[d.fingerprint] += len(d.owned)
		}
	}
	for _, d := range parsed {
		if n := inHand[d.fingerprint]; n > inHand[best] || (n == inHand[best] && best != l.layout.fingerprint && d.fingerprint < best) {
			best = d.fingerprint
		}
	}
	return best
}

// stableID returns the name by which plans know a member: one that survives restarts if it has one.
func stableID(m kmsg.JoinGroupResponseMember) string {
	if m.InstanceID != nil {
		return "static " + *m.InstanceID
	}
	return "dynamic " + m.MemberID
}

// write turns the plan into the members' assignments.
func (l *leader) write(plan Assignment, planned []Member, parsed []memberData, verdicts []verdict, topology string) syncAssignments {
	assignments := make(syncAssignments, 0, len(l.members))
	seen := map[string]bool{}
	for i, m := range l.members {
		if seen[planned[i].ID] {
			continue // a broker that lists a member twice: the plan knows the first
		}
		seen[planned[i].ID] = true
		share := plan.Shares[planned[i].ID]
		d := shareData{
			verdict: verdicts[i], generation: l.generation, fingerprint: topology,
			tasks: share.Tasks, release: share.Release, rejoin: share.Rejoin,
		}
		switch {
		case verdicts[i] != accepted:
		case topology == l.layout.fingerprint:
			d.partitions = l.layout.partitions(share.Tasks)
		case len(share.Tasks) == len(parsed[i].owned):
			d.partitions = parsed[i].partitions
		default:
			// Only some of the claims stand and we cannot tell which partitions are theirs: the member gives up all.
			d.tasks, d.release, d.rejoin = nil, nil, true
		}
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = m.MemberID, d.encode()
		assignments = append(assignments, a)
	}
	return assignments
}

// syncAssignments are ready to be sent.
type syncAssignments []kmsg.SyncGroupRequestGroupAssignment

// IntoSyncAssignment implements kgo.IntoSyncAssignment.
func (s syncAssignments) IntoSyncAssignment() []kmsg.SyncGroupRequestGroupAssignment { return s }
