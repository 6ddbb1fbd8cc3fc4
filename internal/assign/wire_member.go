package assign

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// memberData is what a member says of itself when it joins: the user data of its consumer protocol metadata, and the partitions
// that it owns, which stand beside it for Kafka's own tools and for leaders of another topology.
type memberData struct {
	instance    string
	fingerprint string
	generation  int32 // of the claims; -1 if there are none
	attempt     int64 // changes when the member wants to be planned for anew though nothing else about it has changed
	owned       []Task
	warm        []WarmTask
	partitions  map[string][]int32 // of owned
}

// encode returns the metadata for JoinGroup; topics are those the member subscribes to.
func (d memberData) encode(topics []string) []byte {
	b := appendString(appendString(encodeHeader(), d.instance), d.fingerprint)
	b = appendNumber(b, int64(d.generation)+1)
	b = appendNumber(b, d.attempt)
	b = appendTasks(b, d.owned)
	b = appendNumber(b, int64(len(d.warm)))
	for _, w := range d.warm {
		b = appendNumber(appendTask(b, w.Task), w.Position)
	}
	b = appendNumber(b, 0) // sections

	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version = 3
	meta.Topics = topics
	meta.UserData = b
	meta.Generation = d.generation
	for _, topic := range sortedTopics(d.partitions) {
		owned := kmsg.NewConsumerMemberMetadataOwnedPartition()
		owned.Topic, owned.Partitions = topic, d.partitions[topic]
		meta.OwnedPartitions = append(meta.OwnedPartitions, owned)
	}
	return meta.AppendTo(nil)
}

// parseMember reads what encode wrote. On an error it returns what could be read of the partitions owned.
func parseMember(metadata []byte) (memberData, error) {
	var meta kmsg.ConsumerMemberMetadata
	if err := meta.ReadFrom(metadata); err != nil {
		return memberData{}, fmt.Errorf("assign: metadata of a member is not the consumer protocol's: %w", err)
	}
	d := memberData{partitions: make(map[string][]int32, len(meta.OwnedPartitions))}
	for _, owned := range meta.OwnedPartitions {
		d.partitions[owned.Topic] = append(d.partitions[owned.Topic], owned.Partitions...)
	}
	r := newWireReader(meta.UserData)
	d.instance, d.fingerprint = r.text(), r.text()
	d.generation = int32(r.number(math.MaxInt32+1) - 1)
	d.attempt = r.number(math.MaxInt64)
	d.owned = r.tasks()
	last := Task{-1, -1}
	for range r.length(3) {
		last = r.task(last)
		d.warm = append(d.warm, WarmTask{last, r.number(math.MaxInt64)})
	}
	r.sections()
	if err := r.finish(); err != nil {
		return memberData{partitions: d.partitions}, fmt.Errorf("assign: user data of a member: %w", err)
	}
	return d, nil
}

// sortedWarm returns warm sorted by task, with each task's newest position; what cannot be true (negative numbers) is left out.
func sortedWarm(warm []WarmTask) []WarmTask {
	newest := make(map[Task]int64, len(warm))
	for _, w := range warm {
		if w.Position >= newest[w.Task] && w.Task.Sub >= 0 && w.Task.Partition >= 0 {
			newest[w.Task] = w.Position
		}
	}
	sorted := make([]WarmTask, 0, len(newest))
	for _, t := range slices.SortedFunc(maps.Keys(newest), compareTasks) {
		sorted = append(sorted, WarmTask{t, newest[t]})
	}
	return sorted
}
