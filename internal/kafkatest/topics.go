package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// helperTimeout is how long a helper tries before it fails its test: enough for a broker to come back after a crash on
// a loaded machine.
const helperTimeout = time.Minute

// Fake starts an embedded broker that lives as long as the test: a cluster of one node, unless the options say
// otherwise. It knows groups and transactions and injects faults, but has no disk and no replication.
func Fake(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatalf("start an embedded broker: %v", err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

// NewClient returns a client that is closed at the test's end. It learns of new topics within 100 ms, where clients
// may otherwise take 5 s.
func NewClient(t testing.TB, addrs []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	all := append([]kgo.Opt{kgo.SeedBrokers(addrs...), kgo.MetadataMinAge(100 * time.Millisecond)}, opts...)
	client, err := kgo.NewClient(all...)
	if err != nil {
		t.Fatalf("make a Kafka client: %v", err)
	}
	t.Cleanup(client.Close)
	return client
}

// CreateTopic creates a topic with the given number of partitions, one replica each, and the given configuration (nil
// for none). It returns when every partition has a leader.
func CreateTopic(t testing.TB, addrs []string, name string, partitions int32, configs map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), helperTimeout)
	defer cancel()
	admin := kadm.NewClient(NewClient(t, addrs))
	values := make(map[string]*string, len(configs))
	for key, value := range configs {
		values[key] = &value
	}
	if _, err := admin.CreateTopic(ctx, partitions, 1, values, name); err != nil {
		t.Fatalf("create topic %s: %v", name, err)
	}
	Eventually(t, helperTimeout, func() error {
		_, err := leaders(ctx, admin, name)
		return err
	})
}

// leaders returns the topic's metadata, or an error as long as it or the leader of a partition is not known.
func leaders(ctx context.Context, admin *kadm.Client, topic string) (kadm.TopicDetail, error) {
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return kadm.TopicDetail{}, err
	}
	detail := topics[topic]
	if detail.Err != nil {
		return kadm.TopicDetail{}, detail.Err
	}
	for _, p := range detail.Partitions {
		if p.Err != nil || p.Leader < 0 {
			return kadm.TopicDetail{}, fmt.Errorf("partition %d of %s has no leader: %v", p.Partition, topic, p.Err)
		}
	}
	return detail, nil
}

// Produce writes records outside any transaction and waits until all are acknowledged. Each record goes to the
// partition it names, in the order given, with the timestamp it has; without one it gets the clock's.
func Produce(t testing.TB, addrs []string, records ...*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), helperTimeout)
	defer cancel()
	client := NewClient(t, addrs, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatalf("produce %d records: %v", len(records), err)
	}
	client.Close()
}

// CommittedOffsets returns what the group has committed, with metadata, by topic and partition. It waits for
// transactions that have offsets of the group pending, and is empty if the group does not exist.
func CommittedOffsets(t testing.TB, addrs []string, group string) kadm.Offsets {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), helperTimeout)
	defer cancel()
	admin := kadm.NewClient(NewClient(t, addrs))
	var offsets kadm.Offsets
	Eventually(t, helperTimeout, func() error {
		fetched, err := admin.FetchOffsets(kadm.RequireStable(ctx), group)
		if err == nil {
			err = fetched.Error()
		}
		if errors.Is(err, kerr.GroupIDNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("committed offsets of group %s: %w", group, err)
		}
		offsets = fetched.Offsets()
		return nil
	})
	return offsets
}
