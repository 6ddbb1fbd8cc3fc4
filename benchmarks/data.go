package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 4
	users      = 10_000 // keys of workload c: the first eight bytes of the value
	valueBytes = 100
	eventRate  = 10_000 // records per second of event time
	lateness   = 5_000  // ms: a quarter of the records are late by less than that
	windowMs   = 10_000
	graceMs    = 5_000
)

// A dataset is the input of a run. It is a function of its fields: what was loaded can be made again to check results.
type dataset struct {
	Topic string
	N     int
	Keys  int
	Base  int64 // ms since the epoch: the first record's time, a multiple of the windows' size
}

// A datum is one record of a dataset.
type datum struct {
	Seq, Key, User int
	Ms             int64
}

// each calls f with the records in order, and with the generator of what fills their values up.
func (d dataset) each(f func(datum, *rand.PCG) error) error {
	r := rand.New(rand.NewPCG(uint64(d.N), uint64(d.Keys)))
	for i := range d.N {
		rec := datum{Seq: i, Key: r.IntN(d.Keys), User: r.IntN(users), Ms: d.Base + int64(i)*1000/eventRate}
		if r.IntN(4) == 0 {
			rec.Ms -= r.Int64N(lateness)
		}
		rest := rand.NewPCG(uint64(i), uint64(d.Keys))
		if err := f(rec, rest); err != nil {
			return err
		}
	}
	return nil
}

func keyOf(k int) []byte { return fmt.Appendf(nil, "key-%08d", k) }

// appendValue appends the value of a record: its user, its number, and filling.
func appendValue(v []byte, d datum, rest *rand.PCG) []byte {
	n := len(v)
	v = fmt.Appendf(v, "u%07d;%010d;", d.User, d.Seq)
	for len(v)-n < valueBytes {
		var eight [8]byte
		binary.LittleEndian.PutUint64(eight[:], rest.Uint64())
		for _, b := range eight[:min(8, n+valueBytes-len(v))] {
			v = append(v, 'a'+b%26)
		}
	}
	return v
}

// load fills a new topic. Keys are placed as Java clients place them.
func (d dataset) load(ctx context.Context, addr string) error {
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(addr), kgo.MetadataMinAge(100*time.Millisecond), kgo.DefaultProduceTopic(d.Topic),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(200_000), kgo.ProducerLinger(5*time.Millisecond),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := createTopic(ctx, kadm.NewClient(cl), d.Topic); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failed := func(_ *kgo.Record, err error) {
		if err != nil {
			cancel(err)
		}
	}
	err = d.each(func(rec datum, rest *rand.PCG) error {
		cl.Produce(ctx, &kgo.Record{Key: keyOf(rec.Key), Value: appendValue(nil, rec, rest), Timestamp: time.UnixMilli(rec.Ms)}, failed)
		return context.Cause(ctx)
	})
	if err == nil {
		err = cl.Flush(ctx)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("load topic %s: %w", d.Topic, err)
	}
	return nil
}

// createTopic creates a topic that keeps everything: event time has nothing to do with the broker's clock.
func createTopic(ctx context.Context, adm *kadm.Client, name string) error {
	forever := "-1"
	if _, err := adm.CreateTopic(ctx, partitions, 1, map[string]*string{"retention.ms": &forever}, name); err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	for { // it takes a moment for brokers to know of it
		topics, err := adm.ListTopics(ctx, name)
		if err != nil {
			return fmt.Errorf("find topic %s: %w", name, err)
		}
		if t := topics[name]; t.Err == nil && len(t.Partitions) == partitions {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
