// Package verify checks what an application has written against what it must
// have written: its outputs against an oracle (V2, with package oracle), and the
// state of its instances against the changelogs (V6). It reads Kafka and stopped
// instances' databases, and knows nothing of how the application ran.
package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
)

// A Log is one partition of a topic.
type Log struct {
	Topic      string
	Partition  int32
	Start, End int64         // the first offset that is kept, and the one after the last
	Records    []*kgo.Record // as read_committed readers see them
	Aborted    int           // how many more read_uncommitted readers see
}

// A Reader reads whole topics. It is used by one goroutine.
type Reader struct {
	client *kgo.Client
	admin  *kadm.Client
}

// NewReader returns a reader; opts say at least where the brokers are. It must
// be closed.
func NewReader(opts ...kgo.Opt) (*Reader, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.MetadataMinAge(100 * time.Millisecond)}, opts...)...)
	if err != nil {
		return nil, err
	}
	return &Reader{client: client, admin: kadm.NewClient(client)}, nil
}

// Close closes the reader.
func (r *Reader) Close() { r.client.Close() }

// Admin is the reader's own client for administration.
func (r *Reader) Admin() *kadm.Client { return r.admin }

// Settle waits until no transaction is open in the topics: until the ends that
// read_committed and read_uncommitted readers see agree.
func (r *Reader) Settle(ctx context.Context, topics ...string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		open, err := r.open(ctx, topics)
		if err == nil && open == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = errors.New(open)
			}
			return fmt.Errorf("topics do not settle: %w", err)
		case <-tick.C:
		}
	}
}

// open says which partition has a transaction open, if one has.
func (r *Reader) open(ctx context.Context, topics []string) (string, error) {
	stable, err := r.admin.ListCommittedOffsets(ctx, topics...)
	if err = first(stable, err); err != nil {
		return "", err
	}
	ends, err := r.admin.ListEndOffsets(ctx, topics...)
	if err = first(ends, err); err != nil {
		return "", err
	}
	at := ""
	ends.Each(func(e kadm.ListedOffset) {
		if s, ok := stable.Lookup(e.Topic, e.Partition); !ok || s.Offset != e.Offset {
			at = fmt.Sprintf("%s, partition %d is stable up to %d and ends at %d", e.Topic, e.Partition, s.Offset, e.Offset)
		}
	})
	return at, nil
}

func first(offsets kadm.ListedOffsets, err error) error {
	if err != nil {
		return err
	}
	return offsets.Error()
}

// Topic reads a topic from its start to where it ends now, by partition. What is
// committed is read up to the last stable offset: Settle first. Transaction
// markers are left out.
func (r *Reader) Topic(ctx context.Context, topic string) ([]Log, error) {
	return r.Since(ctx, topic, func(int32) int64 { return 0 })
}

// Since is Topic from an offset on in each partition.
func (r *Reader) Since(ctx context.Context, topic string, from func(partition int32) int64) ([]Log, error) {
	details, err := r.admin.ListTopics(ctx, topic)
	if err == nil {
		err = details[topic].Err
	}
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", topic, err)
	}
	starts, err := r.admin.ListStartOffsets(ctx, topic)
	if err = first(starts, err); err != nil {
		return nil, err
	}
	stable, err := r.admin.ListCommittedOffsets(ctx, topic)
	if err = first(stable, err); err != nil {
		return nil, err
	}
	ends, err := r.admin.ListEndOffsets(ctx, topic)
	if err = first(ends, err); err != nil {
		return nil, err
	}
	logs := make([]Log, len(details[topic].Partitions))
	for p := range int32(len(logs)) {
		start, _ := starts.Lookup(topic, p)
		lso, _ := stable.Lookup(topic, p)
		end, _ := ends.Lookup(topic, p)
		l := &logs[p]
		*l = Log{Topic: topic, Partition: p, Start: start.Offset, End: end.Offset}
		f := fetcher{r: r, topic: topic, id: details[topic].ID, leader: details[topic].Partitions[p].Leader, partition: p}
		begin := max(start.Offset, from(p))
		if l.Records, err = f.read(ctx, kgo.ReadCommitted(), begin, lso.Offset); err != nil {
			return nil, err
		}
		all, err := f.read(ctx, kgo.ReadUncommitted(), begin, end.Offset)
		if err != nil {
			return nil, err
		}
		l.Aborted = len(all) - len(l.Records)
	}
	return logs, nil
}

// A fetcher reads one partition. It fetches by hand: a consumer does not say how
// far it has come in a log whose tail holds nothing that it shows.
type fetcher struct {
	r         *Reader
	topic     string
	id        kadm.TopicID
	leader    int32
	partition int32
}

// read returns the records from one offset up to another, which must be in
// order and each there once.
func (f *fetcher) read(ctx context.Context, level kgo.IsolationLevel, from, to int64) ([]*kgo.Record, error) {
	var records []*kgo.Record
	for at := from; at < to; {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%s, partition %d, offset %d: %w", f.topic, f.partition, at, err)
		}
		got, next, err := f.fetch(ctx, level, at)
		if err != nil {
			return nil, fmt.Errorf("%s, partition %d, offset %d: %w", f.topic, f.partition, at, err)
		}
		for _, rec := range got {
			if rec.Offset < at || rec.Offset >= to {
				continue
			}
			at = rec.Offset + 1
			if !rec.Attrs.IsControl() {
				records = append(records, rec)
			}
		}
		at = max(at, next)
	}
	return records, nil
}

func (f *fetcher) fetch(ctx context.Context, level kgo.IsolationLevel, at int64) ([]*kgo.Record, int64, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 100, 1, 64<<20, -1
	if level == kgo.ReadCommitted() {
		req.IsolationLevel = 1
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = f.partition, at, 16<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = f.topic, f.id
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, f.r.client.Broker(int(f.leader)))
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err == nil && (len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1) {
		err = errors.New("the broker's answer does not speak of the partition")
	}
	if err != nil {
		return nil, 0, err
	}
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: at, IsolationLevel: level, Topic: f.topic, Partition: f.partition,
	}, &resp.Topics[0].Partitions[0], kgo.DefaultDecompressor(), nil)
	return got.Records, next, got.Err
}

// Offsets returns what the group has committed, by topic and partition, once no
// transaction is open that would change it.
func (r *Reader) Offsets(ctx context.Context, group string) (map[string]map[int32]checkpoint.Offset, error) {
	fetched, err := r.admin.FetchOffsets(kadm.RequireStable(ctx), group)
	if err == nil {
		err = fetched.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("committed offsets of group %s: %w", group, err)
	}
	offsets := map[string]map[int32]checkpoint.Offset{}
	var bad error
	fetched.Each(func(o kadm.OffsetResponse) {
		meta, err := checkpoint.DecodeMeta(o.Metadata)
		if err != nil {
			bad = err
		}
		if offsets[o.Topic] == nil {
			offsets[o.Topic] = map[int32]checkpoint.Offset{}
		}
		offsets[o.Topic][o.Partition] = checkpoint.Offset{Topic: o.Topic, Partition: o.Partition, Offset: o.At, Meta: meta}
	})
	return offsets, bad
}
