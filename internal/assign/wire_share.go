package assign

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A verdict says whether the leader could plan for a member.
type verdict int64

const (
	accepted      verdict = iota
	wrongTopology         // the group runs another topology
	unreadable            // the leader could not read the member's metadata
	verdictsEnd
)

// shareData is what the leader says to one member: a sync assignment of the consumer protocol with user data.
type shareData struct {
	verdict     verdict
	generation  int32  // of the plan
	fingerprint string // of the group's topology
	tasks       []Task
	release     []Task
	rejoin      bool
	partitions  map[string][]int32 // of tasks
}

func (d shareData) encode() []byte {
	b := appendNumber(encodeHeader(), int64(d.verdict))
	b = appendNumber(b, int64(d.generation))
	b = appendString(b, d.fingerprint)
	b = appendTasks(appendTasks(b, d.tasks), d.release)
	rejoin := int64(0)
	if d.rejoin {
		rejoin = 1
	}
	b = appendNumber(b, rejoin)
	b = appendNumber(b, 0) // sections

	assignment := kmsg.NewConsumerMemberAssignment()
	assignment.UserData = b
	for _, topic := range sortedTopics(d.partitions) {
		t := kmsg.NewConsumerMemberAssignmentTopic()
		t.Topic, t.Partitions = topic, d.partitions[topic]
		assignment.Topics = append(assignment.Topics, t)
	}
	return assignment.AppendTo(nil)
}

// parseShare reads what encode wrote. It does not check the tasks against a topology.
func parseShare(assignment []byte) (shareData, error) {
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(assignment); err != nil {
		return shareData{}, fmt.Errorf("assign: assignment is not the consumer protocol's: %w", err)
	}
	d := shareData{partitions: make(map[string][]int32, len(a.Topics))}
	for _, t := range a.Topics {
		d.partitions[t.Topic] = append(d.partitions[t.Topic], t.Partitions...)
	}
	r := newWireReader(a.UserData)
	d.verdict = verdict(r.number(int64(verdictsEnd - 1)))
	d.generation = int32(r.number(math.MaxInt32))
	d.fingerprint = r.text()
	d.tasks, d.release, d.rejoin = r.tasks(), r.tasks(), r.flag()
	r.sections()
	if err := r.finish(); err != nil {
		return shareData{}, fmt.Errorf("assign: user data of an assignment: %w", err)
	}
	return d, nil
}
