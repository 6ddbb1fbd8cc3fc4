package client

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
)

// Committed asks for the group's committed offsets, waiting until no
// transaction that would change them is open. Partitions that nothing was
// committed for have offset -1.
func Committed(
	ctx context.Context, cl *kgo.Client, catalog *Catalog, group string, parts map[string][]int32,
) (map[string]map[int32]checkpoint.Offset, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	for topic, ps := range parts {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.TopicID, t.Partitions = topic, catalog.ID(topic), ps
		g.Topics = append(g.Topics, t)
	}
	req.Groups = append(req.Groups, g)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, fmt.Errorf("committed offsets of group %s: %w", group, err)
	}
	got := map[string]map[int32]checkpoint.Offset{}
	for _, g := range resp.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
			return nil, fmt.Errorf("committed offsets of group %s: %w", group, err)
		}
		for _, t := range g.Topics {
			name := catalog.Name(t.Topic, t.TopicID)
			got[name] = map[int32]checkpoint.Offset{}
			for _, p := range t.Partitions {
				o, err := committed(name, p)
				if err != nil {
					return nil, fmt.Errorf("group %s, topic %s, partition %d: committed offset: %w", group, name, p.Partition, err)
				}
				got[name][p.Partition] = o
			}
		}
	}
	for topic, ps := range parts {
		for _, p := range ps {
			if _, ok := got[topic][p]; !ok {
				return nil, fmt.Errorf("group %s: the broker says nothing of topic %s, partition %d", group, topic, p)
			}
		}
	}
	return got, nil
}

func committed(topic string, p kmsg.OffsetFetchResponseGroupTopicPartition) (checkpoint.Offset, error) {
	o := checkpoint.Offset{Topic: topic, Partition: p.Partition, Offset: p.Offset, Meta: checkpoint.NoMeta}
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return o, err
	}
	if p.Offset < 0 || p.Metadata == nil {
		return o, nil
	}
	var err error
	o.Meta, err = checkpoint.DecodeMeta(*p.Metadata)
	return o, err
}
