package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafkatest"
)

func TestLoadGoesOnWhereItWasInterrupted(t *testing.T) {
	addrs := kafkatest.Fake(t).ListenAddrs()
	kafkatest.CreateTopic(t, addrs, "source", 3, nil)
	client := kafkatest.NewClient(t, addrs, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	records := func() (list []*kgo.Record) {
		for i := range 100 {
			list = append(list, &kgo.Record{Topic: "source", Partition: int32(i * i % 3), Value: fmt.Append(nil, i)})
		}
		return list
	}
	for _, c := range []struct{ upTo, wrote int }{{1, 1}, {40, 39}, {100, 60}, {100, 0}} {
		n, err := load(t.Context(), client, records()[:c.upTo], "numbers")
		require.NoError(t, err)
		require.Equal(t, c.wrote, n)
	}
	want := make([][]string, 3)
	for _, r := range records() {
		want[r.Partition] = append(want[r.Partition], string(r.Value))
	}
	got := make([][]string, 3)
	for p, list := range kafkatest.ReadAll(t, addrs, "source", kgo.ReadUncommitted()) {
		for _, r := range list {
			got[p] = append(got[p], string(r.Value))
		}
	}
	require.Equal(t, want, got)

	_, err := load(t.Context(), client, records(), "letters")
	require.ErrorContains(t, err, "topic source holds other records than letters")
}
