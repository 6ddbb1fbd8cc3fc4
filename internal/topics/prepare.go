package topics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirstream/weir/internal/client"
	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/graph"
)

// A Keeper creates and checks the topics of an application.
type Keeper struct {
	Admin       *kadm.Client
	Catalog     *client.Catalog
	Plan        *graph.Plan
	Log         *slog.Logger
	Replication int16 // -1 for the brokers' default
}

// Prepare checks the topics that users made, creates internal topics that do
// not exist, and checks those that do. An administrator may have made them.
func (k *Keeper) Prepare(ctx context.Context) (*Layout, error) {
	names := k.userTopics()
	if err := k.Catalog.Load(ctx, names...); err != nil {
		return nil, err
	}
	var errs []error
	for _, name := range names {
		if _, err := k.Catalog.Topic(name); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	layout, err := Lay(k.Plan, func(topic string) int32 {
		t, _ := k.Catalog.Topic(topic)
		return t.Partitions
	})
	if err != nil {
		return nil, err
	}
	wanted := k.internal(layout)
	for _, w := range wanted {
		if err := k.ensure(ctx, w); err != nil {
			return nil, err
		}
		layout.Counts[w.name] = w.partitions
	}
	return layout, nil
}

// userTopics lists the topics that the topology names, and dead-letter topics.
func (k *Keeper) userTopics() []string {
	var names []string
	for _, n := range k.Plan.Nodes {
		if (n.Kind == graph.Source || n.Kind == graph.Sink) && n.Topic != "" {
			names = append(names, n.Topic)
		}
		if n.Policy != nil && n.Policy.Action == flow.DeadLetter {
			names = append(names, n.Policy.Topic)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A wanted is an internal topic as it must be.
type wanted struct {
	name       string
	partitions int32
	configs    map[string]string
	policy     string // cleanup.policy
}

func (k *Keeper) internal(l *Layout) (list []wanted) {
	for i, s := range k.Plan.Subs {
		for _, n := range s.Stores {
			policy := "compact"
			if n.Store.Kind != "key-value" {
				policy = "compact,delete"
			}
			list = append(list, want(k.Plan.ChangelogTopic(n), l.Tasks[i], policy))
		}
		for _, n := range s.Repartitions {
			list = append(list, want(k.Plan.RepartitionTopic(n), l.Counts[k.Plan.RepartitionTopic(n)], "delete"))
		}
	}
	return list
}

// want says how an internal topic is made. None of them may lose records by
// their age: timestamps are event times, and a broker that compares them to its
// clock deletes the live rows of an old year. What is not needed any more is
// deleted by DeleteRecords.
func want(name string, partitions int32, policy string) wanted {
	far := strconv.FormatInt(math.MaxInt64, 10)
	w := wanted{name: name, partitions: partitions, policy: policy, configs: map[string]string{
		"cleanup.policy":                  policy,
		"retention.ms":                    "-1",
		"retention.bytes":                 "-1",
		"message.timestamp.type":          "CreateTime",
		"message.timestamp.before.max.ms": far,
		"message.timestamp.after.max.ms":  far,
	}}
	if policy != "delete" {
		w.configs["delete.retention.ms"] = "604800000" // 7 days: local state older than half of it is not trusted
	}
	return w
}

func (k *Keeper) ensure(ctx context.Context, w wanted) error {
	if t, err := k.find(ctx, w.name); err != nil || t != nil {
		if err != nil {
			return err
		}
		return k.check(ctx, w, t)
	}
	configs := map[string]*string{}
	for key, v := range w.configs {
		configs[key] = kadm.StringPtr(v)
	}
	resp, err := k.Admin.CreateTopic(ctx, w.partitions, k.Replication, configs, w.name)
	if err == nil {
		err = resp.Err
	}
	switch {
	case errors.Is(err, kerr.TopicAlreadyExists): // by another instance, just now
	case err != nil:
		return fmt.Errorf("cannot create internal topic %s: %w", w.name, err)
	default:
		k.Log.Info("created internal topic", "topic", w.name, "partitions", w.partitions, "cleanup_policy", w.policy)
	}
	t, err := k.appear(ctx, w.name)
	if err != nil {
		return err
	}
	return k.check(ctx, w, t)
}

func (k *Keeper) find(ctx context.Context, name string) (*flow.Topic, error) {
	if err := k.Catalog.Load(ctx, name); err != nil {
		return nil, err
	}
	return k.Catalog.Known(name), nil
}

// check compares an existing topic with what is needed.
func (k *Keeper) check(ctx context.Context, w wanted, t *flow.Topic) error {
	if t.Partitions != w.partitions {
		return fmt.Errorf("internal topic %s has %d partitions and needs %d, as many as what feeds it has: "+
			"the number of partitions of a source has changed, and equal keys would no longer meet their state; "+
			"reset the application", w.name, t.Partitions, w.partitions)
	}
	configs, err := k.Admin.DescribeTopicConfigs(ctx, w.name)
	if err != nil {
		return fmt.Errorf("cannot read the configuration of internal topic %s: %w", w.name, err)
	}
	r, err := configs.On(w.name, nil)
	if err != nil {
		return err
	}
	for _, kv := range r.Configs {
		switch v := kv.MaybeValue(); kv.Key {
		case "cleanup.policy":
			if compacted(v) != compacted(w.policy) {
				return fmt.Errorf("internal topic %s has cleanup.policy=%s and needs %s", w.name, v, w.policy)
			}
		case "retention.ms":
			if w.policy != "compact" && v != "-1" {
				return fmt.Errorf("internal topic %s has retention.ms=%s and needs -1: "+
					"live records would be deleted by their event time", w.name, v)
			}
		}
	}
	return nil
}

func compacted(policy string) bool {
	return len(policy) >= 7 && (policy[:7] == "compact" || policy == "delete,compact")
}
