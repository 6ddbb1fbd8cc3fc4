package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// verifyTimeout is how long results may be behind the commit of the input: only those of workload c may be at all.
const verifyTimeout = 30 * time.Second

// errMissing is wrapped by what time may mend.
var errMissing = errors.New("results are missing")

// verify checks everything that a run wrote against the input.
func (b *bench) verify(ctx context.Context, w work, out string) error {
	deadline := time.Now().Add(verifyTimeout)
	for {
		err := b.verifyOnce(ctx, w, out)
		if err == nil || !errors.Is(err, errMissing) || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
	}
}

func (b *bench) verifyOnce(ctx context.Context, w work, out string) error {
	switch w.workload {
	case "a", "raw-tx":
		return b.verifyCopy(ctx, w.data, out)
	case "b":
		return b.verifyCounts(ctx, w.data, out, windowed{w.data})
	case "c":
		return b.verifyCounts(ctx, w.data, out, perUser{})
	}
	return nil
}

// verifyCopy checks that every record of the input is there once, changed as it should be.
func (b *bench) verifyCopy(ctx context.Context, d dataset, out string) error {
	seed := maphash.MakeSeed()
	want := make([]uint64, 0, d.N) // hashes by sequence number; zero once found
	var buf []byte
	_ = d.each(func(rec datum, rest *rand.PCG) error {
		buf = appendValue(append(buf[:0], keyOf(rec.Key)...), rec, rest)
		buf[len(buf)-1] ^= 1
		want = append(want, maphash.Bytes(seed, buf)|1)
		return nil
	})
	found := 0
	err := b.readAll(ctx, out, func(r *kgo.Record) error {
		if len(r.Value) != valueBytes {
			return fmt.Errorf("offset %d: a value of %d bytes", r.Offset, len(r.Value))
		}
		seq, err := strconv.Atoi(string(r.Value[9:19]))
		if err != nil || seq >= d.N {
			return fmt.Errorf("offset %d: the value %q is none of the input", r.Offset, r.Value)
		}
		buf = append(append(buf[:0], r.Key...), r.Value...)
		if hash := maphash.Bytes(seed, buf) | 1; want[seq] != hash {
			return fmt.Errorf("offset %d: record %d is there twice, or is not what it should be: %q %q", r.Offset, seq, r.Key, r.Value)
		}
		want[seq] = 0
		found++
		return nil
	})
	if err == nil && found < d.N {
		err = fmt.Errorf("%d of %d records: %w", found, d.N, errMissing)
	}
	return err
}

// A grouping says which count a record of the input goes into, and which one an output's key is of. Counts are numbered
// from zero.
type grouping interface {
	counts() int
	of(datum) int
	ofKey([]byte) (int, error)
}

// windowed groups by key and window.
type windowed struct{ dataset }

// first is the start of the first window: late records fall into one before the base.
func (g windowed) first() int64 { return g.Base - windowMs }

func (g windowed) windows() int {
	return int((g.Base+int64(g.N)*1000/eventRate-g.first())/windowMs) + 1
}

func (g windowed) counts() int      { return g.Keys * g.windows() }
func (g windowed) of(rec datum) int { return g.number(rec.Key, rec.Ms) }

func (g windowed) number(key int, ms int64) int {
	return key*g.windows() + int((ms-g.first())/windowMs)
}

func (g windowed) ofKey(b []byte) (int, error) {
	const keyBytes = 12 // key-%08d
	if len(b) != keyBytes+8 {
		return 0, fmt.Errorf("the key %q is no windowed key", b)
	}
	key, err := strconv.Atoi(string(b[4:keyBytes]))
	start := int64(binary.BigEndian.Uint64(b[keyBytes:]))
	window := (start - g.first()) / windowMs
	if err != nil || !bytes.Equal(keyOf(key), b[:keyBytes]) || key >= g.Keys ||
		start < g.first() || window >= int64(g.windows()) || start%windowMs != 0 {
		return 0, fmt.Errorf("the key %q is none of the input", b)
	}
	return g.number(key, start), nil
}

// perUser groups by the first eight bytes of the value.
type perUser struct{}

func (perUser) counts() int      { return users }
func (perUser) of(rec datum) int { return rec.User }
func (perUser) ofKey(b []byte) (int, error) {
	if len(b) == 8 && b[0] == 'u' {
		if user, err := strconv.Atoi(string(b[1:])); err == nil && user < users {
			return user, nil
		}
	}
	return 0, fmt.Errorf("the key %q is none of the input", b)
}

// verifyCounts checks that the last output of every count is the true one, and that none ever went down.
func (b *bench) verifyCounts(ctx context.Context, d dataset, out string, g grouping) error {
	want, last := make([]uint16, g.counts()), make([]uint16, g.counts())
	_ = d.each(func(rec datum, _ *rand.PCG) error { want[g.of(rec)]++; return nil })
	err := b.readAll(ctx, out, func(r *kgo.Record) error {
		i, err := g.ofKey(r.Key)
		if err != nil {
			return err
		}
		if len(r.Value) != 8 {
			return fmt.Errorf("offset %d: the value %q is no count", r.Offset, r.Value)
		}
		n := binary.BigEndian.Uint64(r.Value)
		if n > uint64(want[i]) || n <= uint64(last[i]) {
			return fmt.Errorf("offset %d: key %q has the count %d after %d; in the end it should have %d", r.Offset, r.Key, n, last[i], want[i])
		}
		last[i] = uint16(n)
		return nil
	})
	if err != nil {
		return err
	}
	wrong := 0
	for i := range want {
		if want[i] != last[i] {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d counts: %w", wrong, len(want), errMissing)
	}
	return nil
}

// readAll calls f with the committed records of a topic, in order within each partition.
func (b *bench) readAll(ctx context.Context, topic string, f func(*kgo.Record) error) error {
	ends, err := b.adm.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return err
	}
	from, left := map[int32]kgo.Offset{}, map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			from[o.Partition], left[o.Partition] = kgo.NewOffset().AtStart(), o.Offset
		}
	})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxPartitionBytes(4<<20))
	if err != nil {
		return err
	}
	defer cl.Close()
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetchError(ctx, fetches); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			r := iter.Next()
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			if r.Attrs.IsControl() {
				continue
			}
			if err := f(r); err != nil {
				return fmt.Errorf("%s, partition %d: %w", topic, r.Partition, err)
			}
		}
	}
	return nil
}
