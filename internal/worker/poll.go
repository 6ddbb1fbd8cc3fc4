package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/assign"
	"github.com/weirstream/weir/internal/task"
)

const (
	pollRecords = 20_000                // records taken from the client at a time
	stepRecords = 1_000                 // records processed between two looks at the clock
	tick        = 50 * time.Millisecond // how long a poll waits at most
	pauseAbove  = 50_000                // queued records of an input above which it is not fetched
)

// poll takes what was fetched and gives it to the tasks. It waits only if there
// is nothing to do.
func (w *Worker) poll(ctx context.Context) error {
	var fetches kgo.Fetches
	if w.busy() {
		//lint:ignore SA1012 nil means: do not wait
		fetches = w.client.Poll(nil, pollRecords)
	} else {
		pctx, cancel := w.sleepable(ctx, w.patience())
		fetches = w.client.Poll(pctx, pollRecords)
		cancel()
	}
	if err := w.fetchErrors(fetches); err != nil {
		return err
	}
	got := false
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if t := w.reader(p.Topic, p.Partition); t != nil {
			t.Add(p.Topic, p.Records, p.LastStableOffset)
			got = got || len(p.Records) > 0
		}
	})
	if got {
		if err := w.cfg.Hook.Reach(checkpoint.AfterPoll); err != nil {
			return err
		}
	}
	now := time.Now().UnixMilli()
	for _, t := range w.running {
		t.Tick(now, false, w.ask)
	}
	return nil
}

// busy reports whether a task has something to do.
func (w *Worker) busy() bool {
	for _, t := range w.running {
		if t.Ready() {
			return true
		}
	}
	return false
}

// patience is how long a poll may wait.
func (w *Worker) patience() time.Duration {
	if w.began.IsZero() {
		return tick
	}
	return min(tick, max(time.Until(w.began.Add(w.cfg.CommitInterval)), time.Microsecond))
}

// reader returns the running task that reads a partition.
func (w *Worker) reader(topic string, partition int32) *task.Task {
	for _, t := range w.running {
		if t.ID.Partition == partition && t.Input(topic) != nil {
			return t
		}
	}
	return nil
}

// fetchErrors tells errors that pass from those that stop the app.
func (w *Worker) fetchErrors(fetches kgo.Fetches) (fatal error) {
	fetches.EachError(func(topic string, partition int32, err error) {
		var topology *assign.TopologyError
		var session *kgo.ErrGroupSession
		switch {
		case fatal != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		case errors.As(err, &topology):
			fatal = topology
		case errors.Is(err, kerr.FencedInstanceID):
			fatal = fmt.Errorf("group %s: another process has joined as instance %s: ids must be unique: %w",
				w.cfg.Client.Group, w.cfg.Client.Instance, err)
		case errors.Is(err, kerr.OffsetOutOfRange):
			fatal = fmt.Errorf("group %s: topic %s, partition %d: the committed offset is outside of the log, "+
				"whose records were deleted before they were processed: %w", w.cfg.Client.Group, topic, partition, err)
		case errors.As(err, &session):
			w.cfg.Log.Warn("the group session ended; joining again", "worker", w.cfg.Client.Instance, "error", err)
		case errors.Is(err, kgo.ErrClientClosed):
			fatal = &errRebuild{err}
		default:
			w.cfg.Log.Warn("cannot fetch for now", "topic", topic, "partition", partition, "error", err)
		}
	})
	return fatal
}

// work lets each task with something to do do some of it, in turn, until none
// has more or a commit is due.
func (w *Worker) work(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; {
		more = false
		for _, t := range w.running {
			if !t.Ready() {
				continue
			}
			if w.began.IsZero() {
				w.began = time.Now()
			}
			again, err := t.Step(stepRecords)
			if err != nil {
				return err
			}
			more = more || again
		}
		if more && w.commitDue() {
			return w.cfg.Hook.Reach(checkpoint.AfterProcess)
		}
	}
	if !w.began.IsZero() {
		return w.cfg.Hook.Reach(checkpoint.AfterProcess)
	}
	return nil
}

// An answer says where a partition ended.
type answer struct {
	topic     string
	partition int32
	sentAt    int64
	end       int64
}

// ask asks for a partition's end, to tell idle from slow.
func (w *Worker) ask(topic string, partition int32) {
	sent := time.Now().UnixMilli()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		ends, err := w.cfg.Admin.ListEndOffsets(ctx, topic)
		if o, ok := ends.Lookup(topic, partition); err == nil && ok && o.Err == nil {
			select {
			case w.answers <- answer{topic, partition, sent, o.Offset}:
				w.wake()
			case <-ctx.Done():
			}
		}
	}()
}

// receive takes what others have brought: opened tasks, and answers.
func (w *Worker) receive(ctx context.Context) error {
	for {
		select {
		case o := <-w.opened:
			if err := w.start(ctx, o); err != nil {
				return err
			}
		case a := <-w.answers:
			if t := w.reader(a.topic, a.partition); t != nil {
				t.Answer(a.topic, a.sentAt, a.end)
			}
		default:
			return nil
		}
	}
}
