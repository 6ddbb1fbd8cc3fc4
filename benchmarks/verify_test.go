package main

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafkatest"
)

var small = dataset{Topic: "in", N: 2000, Keys: 50, Base: 1_796_040_000_000}

// copies is what a run of workload a should write.
func copies() (recs []*kgo.Record) {
	_ = small.each(func(rec datum, rest *rand.PCG) error {
		r := &kgo.Record{Partition: int32(rec.Key % partitions), Key: keyOf(rec.Key), Value: flipped(appendValue(nil, rec, rest))}
		recs = append(recs, r)
		return nil
	})
	return recs
}

// counts is what a run of workload b or c could write: each count as it rises.
func counts(workload string) (recs []*kgo.Record) {
	n := map[string]uint64{}
	_ = small.each(func(rec datum, _ *rand.PCG) error {
		key := binary.BigEndian.AppendUint64(keyOf(rec.Key), uint64(rec.Ms-rec.Ms%windowMs))
		if workload == "c" {
			key = appendValue(nil, rec, rand.NewPCG(0, 0))[:8]
		}
		n[string(key)]++
		value := binary.BigEndian.AppendUint64(nil, n[string(key)])
		recs = append(recs, &kgo.Record{Partition: int32(key[len(key)-1] % partitions), Key: key, Value: value})
		return nil
	})
	return recs
}

// TestVerify shows that a right result passes, and one with a single record missing, doubled or changed does not.
func TestVerify(t *testing.T) {
	addrs := kafkatest.Fake(t).ListenAddrs()
	b := &bench{addr: addrs[0], adm: kadm.NewClient(kafkatest.NewClient(t, addrs))}
	topic := 0
	verify := func(workload string, recs []*kgo.Record) error {
		topic++
		name := "out-" + string(rune('a'+topic))
		kafkatest.CreateTopic(t, addrs, name, partitions, nil)
		for _, r := range recs {
			r.Topic = name
		}
		kafkatest.Produce(t, addrs, recs...)
		return b.verifyOnce(context.Background(), work{workload: workload, data: small}, name)
	}
	require.NoError(t, verify("a", copies()))
	require.ErrorIs(t, verify("a", copies()[1:]), errMissing)
	require.ErrorContains(t, verify("a", append(copies(), copies()[7])), "record 7 is there twice")
	wrong := copies()
	wrong[3].Key = keyOf(99)
	require.ErrorContains(t, verify("a", wrong), "record 3 is there twice, or is not what it should be")
	for _, workload := range []string{"b", "c"} {
		require.NoError(t, verify(workload, counts(workload)), workload)
		require.ErrorIs(t, verify(workload, slices.Delete(counts(workload), small.N-1, small.N)), errMissing, workload)
		require.ErrorContains(t, verify(workload, append(counts(workload), counts(workload)[small.N-1])), "after", workload)
		wrong := counts(workload)
		wrong[small.N-1].Value[7]++
		require.ErrorContains(t, verify(workload, wrong), "in the end it should have", workload)
		wrong = counts(workload)
		wrong[0].Key[1]++
		require.Error(t, verify(workload, wrong), workload)
	}
}

func TestDatasetIsAFunctionOfItsFields(t *testing.T) {
	first, second := copies(), copies()
	require.Equal(t, first, second)
	late := 0
	_ = small.each(func(rec datum, _ *rand.PCG) error {
		onTime := small.Base + int64(rec.Seq)*1000/eventRate
		require.LessOrEqual(t, rec.Ms, onTime)
		require.Greater(t, rec.Ms, onTime-lateness)
		if rec.Ms < onTime {
			late++
		}
		return nil
	})
	require.InDelta(t, small.N/4, late, float64(small.N)/20)
}

func TestProcessCPUCounts(t *testing.T) {
	before, err := processCPU(os.Getpid())
	require.NoError(t, err)
	for i, began := 0, time.Now(); time.Since(began) < 20*time.Millisecond; i++ {
		_ = keyOf(i)
	}
	after, err := processCPU(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, after-before, time.Millisecond)
	peak, err := peakMiB(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, peak)
	_, err = processCPU(1 << 23)
	require.Error(t, err)
}
