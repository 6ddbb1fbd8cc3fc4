package worker

import (
	"cmp"
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirstream/weir/internal/client"
	"github.com/weirstream/weir/internal/graph"
	"github.com/weirstream/weir/internal/restore"
	"github.com/weirstream/weir/internal/task"
)

// beginning is where an input begins of which nothing was committed: the reset
// policy is for the very first start only. Where there is state already, or
// records are there or gone that only processing explains, offsets were lost.
func (w *Worker) beginning(ctx context.Context, id task.ID, in *task.Input, start int64, stores []restore.Store) (int64, error) {
	what, err := w.worked(ctx, id, in, start, stores)
	if err != nil {
		return 0, err
	}
	if what != "" {
		return 0, fmt.Errorf("group %s has no committed offset for topic %s, partition %d, but %s: its offsets were lost "+
			"(brokers forget them after offsets.retention.minutes without members); reset the application to process everything again",
			w.cfg.Client.Group, in.Topic, in.Partition, what)
	}
	for _, n := range w.cfg.Plan.Nodes {
		if n.Kind != graph.Source || n.Topic != in.Topic || n.Reader.From.IsZero() {
			continue
		}
		at, err := w.cfg.Admin.ListOffsetsAfterMilli(ctx, n.Reader.From.UnixMilli(), in.Topic)
		from, err := offsetOf(at, err, in.Topic, in.Partition)
		if err != nil {
			return 0, fmt.Errorf("topic %s, partition %d: cannot find the first record from %v: %w", in.Topic, in.Partition, n.Reader.From, err)
		}
		return from, nil // the end, if there is none yet
	}
	return start, nil
}

// worked says what shows that an input was processed before; it is empty if
// nothing does.
func (w *Worker) worked(ctx context.Context, id task.ID, in *task.Input, start int64, stores []restore.Store) (string, error) {
	if in.Internal && start > 0 {
		return "records of it were processed", nil
	}
	for _, s := range stores {
		ends, err := w.cfg.Admin.ListEndOffsets(ctx, s.Topic)
		end, err := offsetOf(ends, err, s.Topic, in.Partition)
		if err != nil {
			return "", fmt.Errorf("cannot read the end of changelog %s: %w", s.Topic, err)
		}
		if end > 0 {
			return fmt.Sprintf("changelog %s holds state", s.Topic), nil
		}
	}
	for _, n := range w.cfg.Plan.Subs[id.Sub].Repartitions {
		topic := w.cfg.Plan.RepartitionTopic(n)
		ends, err := w.cfg.Admin.ListEndOffsets(ctx, topic)
		if err := cmp.Or(err, ends.Error()); err != nil {
			return "", fmt.Errorf("cannot read the end of repartition topic %s: %w", topic, err)
		}
		holds := false
		ends.Each(func(e kadm.ListedOffset) { holds = holds || e.Offset > 0 })
		if !holds {
			continue
		}
		// Other tasks of a first start may be quicker than this one. But each
		// commits where it begins before it writes.
		if began, err := w.anyCommitted(ctx, in.Topic); began || err != nil {
			return "", err
		}
		return fmt.Sprintf("repartition topic %s holds records", topic), nil
	}
	return "", nil
}

// anyCommitted reports whether an offset of any partition of a topic is
// committed.
func (w *Worker) anyCommitted(ctx context.Context, topic string) (bool, error) {
	var all []int32
	for p := range w.cfg.Layout.Partitions(topic) {
		all = append(all, p)
	}
	got, err := client.Committed(ctx, w.client.Kgo(), w.cfg.Catalog, w.cfg.Client.Group, map[string][]int32{topic: all})
	for _, o := range got[topic] {
		if o.Offset >= 0 {
			return true, err
		}
	}
	return false, err
}

// offsetOf takes one offset out of an answer, in which it may be missing, or an
// error.
func offsetOf(answer kadm.ListedOffsets, err error, topic string, partition int32) (int64, error) {
	o, ok := answer.Lookup(topic, partition)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, kerr.UnknownTopicOrPartition
	}
	return o.Offset, o.Err
}
