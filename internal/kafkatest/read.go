package kafkatest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ReadAll returns all records of a topic, by partition and in the order of their offsets, from the log's start up to
// where it ends now: the high watermark, or for kgo.ReadCommitted the last stable offset, so that it does not wait for
// open transactions, only for those whose end has been decided: a real broker tells the producer before it tells the
// partitions. Control records are left out. It fails the test if that takes longer than a minute.
//
// It fetches by hand instead of consuming: a consumer does not say how far it has got in a log whose tail holds nothing
// but transaction markers, aborted records or compacted ones.
func ReadAll(t testing.TB, addrs []string, topic string, isolation kgo.IsolationLevel) [][]*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), helperTimeout)
	defer cancel()
	client := NewClient(t, addrs)
	defer client.Close()
	r := reader{client: client, admin: kadm.NewClient(client), topic: topic, committed: isolation == kgo.ReadCommitted()}

	if r.committed {
		r.awaitDecided(ctx, t)
	}
	var partitions [][]*kgo.Record
	Eventually(t, helperTimeout, func() (err error) {
		partitions, err = r.all(ctx)
		return err
	})
	return partitions
}

type reader struct {
	client    *kgo.Client
	admin     *kadm.Client
	topic     string
	committed bool
}

// awaitDecided returns when every transaction that was decided when it was called is known to its partitions.
func (r *reader) awaitDecided(ctx context.Context, t testing.TB) {
	var waiting map[string]bool // nil before the first look
	Eventually(t, helperTimeout, func() error {
		decided, err := r.admin.ListTransactions(ctx, nil, []string{"PrepareCommit", "PrepareAbort"})
		if err != nil {
			return fmt.Errorf("list transactions: %w", err)
		}
		still := make(map[string]bool)
		for id := range decided {
			if waiting == nil || waiting[id] {
				still[id] = true
			}
		}
		if waiting = still; len(waiting) > 0 {
			return fmt.Errorf("the markers of these transactions are not written: %v", slices.Collect(maps.Keys(waiting)))
		}
		return nil
	})
}

func (r *reader) all(ctx context.Context) ([][]*kgo.Record, error) {
	detail, err := leaders(ctx, r.admin, r.topic)
	if err != nil {
		return nil, err
	}
	starts, err := r.admin.ListStartOffsets(ctx, r.topic)
	if err = firstError(starts, err); err != nil {
		return nil, err
	}
	listEnds := r.admin.ListEndOffsets
	if r.committed {
		listEnds = r.admin.ListCommittedOffsets
	}
	ends, err := listEnds(ctx, r.topic)
	if err = firstError(ends, err); err != nil {
		return nil, err
	}
	partitions := make([][]*kgo.Record, len(detail.Partitions))
	for p := range int32(len(partitions)) {
		start, _ := starts.Lookup(r.topic, p)
		end, _ := ends.Lookup(r.topic, p)
		if partitions[p], err = r.partition(ctx, detail.Partitions[p], detail.ID, start.Offset, end.Offset); err != nil {
			return nil, fmt.Errorf("read partition %d of %s: %w", p, r.topic, err)
		}
	}
	return partitions, nil
}

func firstError(offsets kadm.ListedOffsets, err error) error {
	if err != nil {
		return err
	}
	return offsets.Error()
}

// partition reads one partition from position to end.
func (r *reader) partition(
	ctx context.Context, p kadm.PartitionDetail, id kadm.TopicID, position, end int64,
) ([]*kgo.Record, error) {
	records := []*kgo.Record{}
	for position < end {
		fetched, next, err := r.fetch(ctx, p, id, position)
		if err != nil {
			return nil, err
		}
		position = next
		for _, record := range fetched {
			if record.Offset < end && !record.Attrs.IsControl() {
				records = append(records, record)
			}
		}
	}
	return records, nil
}

// fetch asks the partition's leader once and returns the records from position on and the next position.
func (r *reader) fetch(
	ctx context.Context, p kadm.PartitionDetail, id kadm.TopicID, position int64,
) ([]*kgo.Record, int64, error) {
	opts := kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: position, IsolationLevel: kgo.ReadUncommitted(),
		Topic: r.topic, Partition: p.Partition,
	}
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = 100, 1, 64<<20
	request.SessionEpoch = -1 // no fetch session
	if r.committed {
		request.IsolationLevel, opts.IsolationLevel = 1, kgo.ReadCommitted()
	}
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = p.Partition, position, 16<<20
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = r.topic, id
	topic.Partitions = append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)

	response, err := request.RequestWith(ctx, r.client.Broker(int(p.Leader)))
	if err != nil {
		return nil, 0, err
	}
	if err := kerr.ErrorForCode(response.ErrorCode); err != nil {
		return nil, 0, err
	}
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return nil, 0, fmt.Errorf("the broker's answer does not speak of the partition")
	}
	got, next := kgo.ProcessFetchPartition(opts, &response.Topics[0].Partitions[0], kgo.DefaultDecompressor(), nil)
	return slices.Clip(got.Records), next, got.Err
}
