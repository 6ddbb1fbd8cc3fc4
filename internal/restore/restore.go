// Package restore brings the rows in Pebble up to what the changelogs hold.
package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/state"
)

// A Store is one store's partition to restore.
type Store struct {
	Topic    string // its changelog
	Part     *state.Partition
	Sessions bool // its rows are sessions
}

// A Restorer restores partitions. It is safe for concurrent use.
type Restorer struct {
	Options  []kgo.Opt // of the clients it makes
	Admin    *kadm.Client
	Log      *slog.Logger
	Now      func() time.Time
	Progress *Progress
}

// Progress counts what restoring has done, over all partitions.
type Progress struct {
	Restores  atomic.Int64 // partitions begun that had something to replay
	Records   atomic.Int64 // replayed
	Bytes     atomic.Int64
	Remaining atomic.Int64 // offsets still to go
	Rebuilt   atomic.Int64 // partitions whose local rows were too old to be of use
}

// oldest is how old local rows may be: half of what the changelogs keep
// tombstones for, without which a deleted row would live on.
const oldest = 84 * time.Hour

// BatchChanges is how many changes are written to Pebble at a time.
const BatchChanges = 2000

// Restore brings the stores of one task up to the ends of their changelogs. It
// must be called after the committed offsets were read from a stable group: the
// ends then include all that belongs to them.
func (r *Restorer) Restore(ctx context.Context, stores []Store) error {
	if len(stores) == 0 {
		return nil
	}
	names := make([]string, 0, len(stores))
	for _, s := range stores {
		names = append(names, s.Topic)
	}
	starts, err := r.Admin.ListStartOffsets(ctx, names...)
	if err != nil {
		return fmt.Errorf("cannot read the starts of changelogs: %w", err)
	}
	// The high watermarks, not the last stable offsets: a transaction may still
	// be open in the log, and its outcome matters.
	ends, err := r.Admin.ListEndOffsets(ctx, names...)
	if err != nil {
		return fmt.Errorf("cannot read the ends of changelogs: %w", err)
	}
	var jobs []*job
	for _, s := range stores {
		start, ok1 := starts.Lookup(s.Topic, s.Part.Number())
		end, ok2 := ends.Lookup(s.Topic, s.Part.Number())
		err := cmp.Or(start.Err, end.Err)
		if err == nil && !(ok1 && ok2) {
			err = kerr.UnknownTopicOrPartition
		}
		if err != nil {
			return fmt.Errorf("changelog %s, partition %d: cannot read its bounds: %w", s.Topic, s.Part.Number(), err)
		}
		j, err := r.prepare(s, start.Offset, end.Offset)
		if err != nil {
			return err
		}
		if j.next < j.end {
			jobs = append(jobs, j)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	return r.replay(ctx, jobs)
}

// A job is one changelog partition to replay.
type job struct {
	Store
	next, end int64
	changes   []state.Change
}

// prepare finds where to begin, after clearing rows that are of no use.
func (r *Restorer) prepare(s Store, start, end int64) (*job, error) {
	pos, ok, err := s.Part.Position()
	if err != nil {
		return nil, err
	}
	j := &job{Store: s, next: start, end: end}
	age := r.Now().Sub(time.UnixMilli(pos.Wall))
	switch {
	case !ok:
		err = s.Part.Clear() // rows without a position stand for nothing
	case pos.Offset < start || pos.Offset > end || pos.Offset < end && age > oldest:
		r.Log.Warn("local state is of no use any more: it is rebuilt from its changelog", "store", s.Part.Name(), "partition", s.Part.Number(),
			"position", pos.Offset, "log_start", start, "log_end", end, "age", age.Round(time.Second))
		r.Progress.Rebuilt.Add(1)
		err = s.Part.Clear()
	default:
		j.next = pos.Offset
		return j, nil
	}
	if err == nil && j.next >= j.end {
		err = s.Part.Restore(nil, state.Position{Offset: j.end, Wall: r.Now().UnixMilli()}, s.Sessions)
	}
	return j, err
}

// replay reads the jobs' partitions up to their ends.
func (r *Restorer) replay(ctx context.Context, jobs []*job) error {
	from := map[string]map[int32]kgo.Offset{}
	byPlace := map[string]*job{}
	for _, j := range jobs {
		from[j.Topic] = map[int32]kgo.Offset{j.Part.Number(): kgo.NewOffset().At(j.next)}
		byPlace[j.Topic] = j
		r.Progress.Restores.Add(1)
		r.Progress.Remaining.Add(j.end - j.next)
	}
	defer func() {
		for _, j := range jobs {
			r.Progress.Remaining.Add(j.next - j.end)
		}
	}()
	cl, err := kgo.NewClient(append(append([]kgo.Opt{}, r.Options...),
		kgo.ConsumePartitions(from), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxPartitionBytes(4<<20), kgo.ConsumeResetOffset(kgo.NoResetOffset()))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	progress, told := r.Now(), r.Now()
	for open := len(jobs); open > 0; {
		pctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		fetches := cl.PollFetches(pctx)
		cancel()
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fetchError(fetches); err != nil {
			return err
		}
		if fetches.NumRecords() > 0 {
			progress = r.Now()
		} else if waited := r.Now().Sub(progress); waited > 10*time.Second {
			r.Log.Warn("restoring waits, perhaps for a transaction to end that is open in a changelog", "topic", jobs[0].Topic,
				"partition", jobs[0].Part.Number(), "position", jobs[0].next, "end", jobs[0].end, "waited", waited.Round(time.Second))
		}
		if open, err = r.take(fetches, byPlace); err != nil {
			return err
		}
		if now := r.Now(); open > 0 && now.Sub(told) > tellEvery {
			told = now
			r.tell(jobs)
		}
	}
	return nil
}

// tellEvery is how often a restore that takes long says how far it is.
const tellEvery = 5 * time.Second

func (r *Restorer) tell(jobs []*job) {
	for _, j := range jobs {
		if j.next < j.end {
			r.Log.Info("restoring", "store", j.Part.Name(), "partition", j.Part.Number(), "records_left", j.end-j.next,
				"records_left_in_all", r.Progress.Remaining.Load())
		}
	}
}

// take writes what was fetched, and returns how many jobs are not done.
func (r *Restorer) take(fetches kgo.Fetches, byTopic map[string]*job) (open int, err error) {
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		j := byTopic[p.Topic]
		for _, rec := range p.Records {
			if err != nil || j.next >= j.end {
				return
			}
			// What is past the end may be all that is seen of a tail that holds
			// nothing but an aborted transaction: its marker.
			next := min(rec.Offset+1, j.end)
			r.Progress.Remaining.Add(j.next - next)
			j.next = next
			if rec.Attrs.IsControl() || rec.Offset >= j.end {
				continue
			}
			r.Progress.Records.Add(1)
			r.Progress.Bytes.Add(int64(len(rec.Key) + len(rec.Value)))
			j.changes = append(j.changes, state.Change{Key: string(rec.Key), Value: rec.Value})
			if len(j.changes) >= BatchChanges {
				err = r.write(j)
			}
		}
	})
	for _, j := range byTopic {
		if err == nil && (len(j.changes) > 0 || j.next >= j.end) {
			err = r.write(j)
		}
		if j.next < j.end {
			open++
		}
	}
	return open, err
}

func (r *Restorer) write(j *job) error {
	err := j.Part.Restore(j.changes, state.Position{Offset: j.next, Wall: r.Now().UnixMilli()}, j.Sessions)
	clear(j.changes)
	j.changes = j.changes[:0]
	return err
}

// ErrCut is returned when the head of a changelog was cut off while it was read.
// What was read before may be missing deletions: the next Restore begins anew.
var ErrCut = errors.New("its head was cut off meanwhile")

// fetchError returns the first error that the client does not mend by itself.
func fetchError(fetches kgo.Fetches) (err error) {
	fetches.EachError(func(topic string, partition int32, e error) {
		switch {
		case err != nil || errors.Is(e, context.DeadlineExceeded) || errors.Is(e, context.Canceled):
		case errors.Is(e, kerr.OffsetOutOfRange):
			err = fmt.Errorf("changelog %s, partition %d: %w: %w", topic, partition, ErrCut, e)
		default:
			err = fmt.Errorf("changelog %s, partition %d: %w", topic, partition, e)
		}
	})
	return err
}
