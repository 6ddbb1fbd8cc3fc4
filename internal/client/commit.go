package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/assign"
)

// ErrNotOwned is returned by CommitOffsets when the group has given a task to
// another member, or may have.
var ErrNotOwned = errors.New("the group has given tasks of this worker to another member")

// ErrStale is returned when an at-least-once worker has not been heard by the
// group for so long that its tasks may have been given away.
var ErrStale = errors.New("the group has not answered a heartbeat for half the session timeout")

// A Fence is a client's Log for an interval: it commits only what it may.
type Fence struct {
	*Client
	Grants []assign.Grant // of the tasks in the interval
}

// CommitOffsets implements checkpoint.Log. Kafka checks member and generation
// and never ownership: that is checked here, in the one order that leaves no
// gap, generation first.
func (f Fence) CommitOffsets(ctx context.Context, offsets []checkpoint.Offset) error {
	member, generation, err := f.allowed()
	if err != nil {
		return err
	}
	if f.cfg.Transactional && f.out.open {
		return f.txnCommit(ctx, offsets, member, generation)
	}
	if !f.cfg.Transactional && !f.Fresh() {
		return ErrStale
	}
	return f.plainCommit(ctx, offsets, member, generation)
}

// CommitNow commits offsets at once, beside the transaction that may be open:
// where tasks begin of which nothing was committed yet.
func (f Fence) CommitNow(ctx context.Context, offsets []checkpoint.Offset) error {
	member, generation, err := f.allowed()
	if err != nil {
		return err
	}
	return f.plainCommit(ctx, offsets, member, generation)
}

// allowed returns as whom the grants' offsets may be committed.
func (f Fence) allowed() (member string, generation int32, err error) {
	member, generation = f.kgo.GroupMetadata()
	owned := f.cfg.Balancer.Owned()
	if owned.Err != nil {
		return "", 0, owned.Err
	}
	if !owned.MayCommit(generation) || slices.ContainsFunc(f.Grants, func(g assign.Grant) bool { return !owned.Holds(g) }) {
		return "", 0, ErrNotOwned
	}
	return member, generation, nil
}

// txnCommit adds offsets to the open transaction. The request is accepted while
// the group waits for others to join, which franz-go's own is not.
func (c *Client) txnCommit(ctx context.Context, offsets []checkpoint.Offset, member string, generation int32) error {
	id, epoch, err := c.kgo.ProducerID(ctx)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = c.cfg.Group+"."+c.cfg.Instance, c.cfg.Group, id, epoch
	req.MemberID, req.Generation, req.InstanceID = member, generation, &c.cfg.Instance
	for _, o := range offsets {
		meta, err := o.Meta.Encode()
		if err != nil {
			return err
		}
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = o.Partition, o.Offset, &meta
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != o.Topic {
			t := kmsg.NewTxnOffsetCommitRequestTopic()
			t.Topic, t.TopicID = o.Topic, c.cfg.Catalog.ID(o.Topic)
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	resp, err := req.RequestWith(ctx, c.kgo)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("%s, partition %d: %w", c.cfg.Catalog.Name(t.Topic, t.TopicID), p.Partition, err)
			}
		}
	}
	return nil
}

// plainCommit commits offsets without a transaction.
func (c *Client) plainCommit(ctx context.Context, offsets []checkpoint.Offset, member string, generation int32) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID = c.cfg.Group, member, generation, &c.cfg.Instance
	for _, o := range offsets {
		meta, err := o.Meta.Encode()
		if err != nil {
			return err
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = o.Partition, o.Offset, &meta
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != o.Topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic, t.TopicID = o.Topic, c.cfg.Catalog.ID(o.Topic)
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	resp, err := req.RequestWith(ctx, c.kgo)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("%s, partition %d: %w", c.cfg.Catalog.Name(t.Topic, t.TopicID), p.Partition, err)
			}
		}
	}
	return nil
}

// End implements checkpoint.Log.
func (c *Client) End(ctx context.Context) error {
	if !c.out.open {
		return nil
	}
	if c.cfg.Transactional {
		if err := c.kgo.EndTransaction(ctx, kgo.TryCommit); err != nil {
			return err
		}
	}
	c.out.final += c.out.sent
	c.out.done()
	return nil
}

// Abort drops the interval. Where the transaction's end was in doubt, it also
// settles it: the producer's epoch moves, so that nothing of it can still
// arrive. After an error the client is of no more use.
func (c *Client) Abort(ctx context.Context) error {
	if !c.out.open {
		return nil
	}
	err := c.kgo.AbortBufferedRecords(ctx)
	if c.cfg.Transactional {
		err = errors.Join(err, c.kgo.EndTransaction(ctx, kgo.TryAbort))
		// EndTransaction returns nil, and does nothing, where the producer has
		// failed for good: the transaction may still be open then.
		_, _, failed := c.kgo.ProducerID(ctx)
		err = errors.Join(err, failed)
	}
	if err == nil {
		c.out.done()
	}
	return err
}
