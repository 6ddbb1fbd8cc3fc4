package stream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

func wordcount() *stream.Topology {
	top := stream.New("wordcount")
	top.Stream(stream.NewTopic("lines", serde.String, serde.String)).
		FlatMap(strings.FieldsSeq).
		Map(strings.ToLower).
		GroupBy("by-word", stream.Identity).
		Count("counts").
		Updates().
		To(stream.NewTopic("counts", serde.String, serde.Int64))
	return top
}

func TestWordcountOnFake(t *testing.T) { testWordcount(t, kafkatest.Fake(t).ListenAddrs()) }

func TestWordcountOnKafka(t *testing.T) { testWordcount(t, kafkatest.Shared(t).Addrs()) }

func testWordcount(t *testing.T, addrs []string) {
	t.Helper()
	kafkatest.CreateTopic(t, addrs, "lines", 3, nil)
	kafkatest.CreateTopic(t, addrs, "counts", 2, nil)
	var recs []*kgo.Record
	for i := range 300 {
		recs = append(recs, &kgo.Record{
			Topic: "lines", Partition: int32(i % 3), Value: []byte("The quick the lazy"), Timestamp: time.UnixMilli(int64(i)),
		})
	}
	kafkatest.Produce(t, addrs, recs...)
	app, err := wordcount().Build(stream.Config{Brokers: addrs, StateDir: t.TempDir(), Workers: 2})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	require.NoError(t, app.RunUntilEnd(ctx))
	last := map[string]int64{}
	for _, part := range kafkatest.ReadAll(t, addrs, "counts", kgo.ReadCommitted()) {
		for _, r := range part {
			n, err := serde.Int64.Decode(r.Value)
			require.NoError(t, err)
			last[string(r.Key)] = n
		}
	}
	require.Equal(t, map[string]int64{"the": 600, "quick": 300, "lazy": 300}, last)
}
