package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/verify"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// A record that a broker will never take stops the app, with an error that names
// topic, partition and record. Nothing of the transaction is committed, of no
// task. (C56)
func TestProduceRefusedForGood(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"echo", "chains", "job-chains-changelog"} {
		t.Run(topic, func(t *testing.T) {
			t.Parallel()
			records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 600)
			c := kafkatest.Fake(t)
			addrs := c.ListenAddrs()
			cluster(t, addrs, records[:300])
			i := start(t, &instance{cfg: configOf(addrs)}, (*stream.App).Run) // and internal topics are made
			settled(t, addrs)
			require.NoError(t, i.stop())
			r, ctx := reader(t, addrs)
			isIt := topicOf(ctx, t, r, topic)
			fill(t, addrs, records[300:])
			var over atomic.Bool
			c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				p := req.(*kmsg.ProduceRequest)
				if !slices.ContainsFunc(p.Topics, isIt) || over.Load() {
					return nil, nil, false
				}
				return refuseProduce(p, kerr.InvalidRecord.Code, isIt), nil, true
			})
			i = start(t, &instance{cfg: i.cfg, fs: i.fs}, (*stream.App).RunUntilEnd)
			err := i.wait()
			require.ErrorIs(t, err, kerr.InvalidRecord)
			require.Regexp(t, "nothing of the interval was committed.*"+topic+`, partition \d, key ".+", \d+ bytes: cannot be written`, err)
			over.Store(true)
			require.NoError(t, start(t, &instance{cfg: i.cfg, fs: i.fs}, (*stream.App).RunUntilEnd).wait())
			check(t, addrs, records, i.fs)
		})
	}
}

// topicOf tells a topic in a produce request, by name or by id.
func topicOf(ctx context.Context, t *testing.T, r *verify.Reader, topic string) func(kmsg.ProduceRequestTopic) bool {
	t.Helper()
	var id [16]byte
	if details, err := r.Admin().ListTopics(ctx, topic); err == nil {
		id = details[topic].ID
	}
	return func(rt kmsg.ProduceRequestTopic) bool {
		return rt.Topic == topic || id != [16]byte{} && rt.TopicID == id
	}
}

// widening makes large results of some of its input.
func widening() *stream.Topology {
	top := stream.New("widening")
	values := top.Stream(stream.NewTopic("narrow", serde.String, serde.String))
	values.Map(func(v string) string {
		if strings.HasPrefix(v, "wide") {
			return strings.Repeat(v, 50_000)
		}
		return v
	}).To(stream.NewTopic("wide-out", serde.String, serde.String))
	return top
}

// A result that is too large for its topic meets the error policy: the app stops
// and names it, having committed nothing of it or behind it; or it is dropped,
// or put aside, and all others are there. Batches of small results are cut to
// size. (C57)
func TestTooLarge(t *testing.T) {
	t.Parallel()
	const n, at = 20_000, 12_345
	for _, guarantee := range []stream.Guarantee{stream.ExactlyOnce, stream.AtLeastOnce} {
		for name, policy := range map[string]stream.ErrorPolicy{
			"fail": stream.Fail(), "skip": stream.Skip(), "dead letter": stream.DeadLetter("dead"),
		} {
			t.Run(fmt.Sprintf("%v/%s", guarantee, name), func(t *testing.T) {
				t.Parallel()
				addrs := kafkatest.Fake(t).ListenAddrs()
				kafkatest.CreateTopic(t, addrs, "narrow", 1, nil)
				kafkatest.CreateTopic(t, addrs, "dead", 1, nil)
				kafkatest.CreateTopic(t, addrs, "wide-out", 1, map[string]string{"max.message.bytes": "100000"})
				var records []*kgo.Record
				for i := range n {
					r := &kgo.Record{Topic: "narrow", Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, "value %d, and some more", i)}
					if i == at {
						r.Value = []byte("wide")
					}
					records = append(records, r)
				}
				kafkatest.Produce(t, addrs, records...)
				cfg := stream.Config{Brokers: addrs, Instance: "one", Guarantee: guarantee, OnError: policy}
				err := start(t, &instance{cfg: cfg, top: widening}, (*stream.App).RunUntilEnd).wait()
				r, ctx := reader(t, addrs)
				out, _ := history(ctx, t, r, "wide-out")
				if name == "fail" {
					require.ErrorContains(t, err, "narrow, partition 0, offset 12345, key \"12345\"")
					require.ErrorContains(t, err, "topic wide-out takes at most 100000")
					offsets, err := r.Admin().FetchOffsets(ctx, "widening")
					require.NoError(t, err)
					o, _ := offsets.Lookup("narrow", 0)
					require.LessOrEqual(t, o.At, int64(at))
					return
				}
				require.NoError(t, err)
				require.Len(t, out, n-1)
				require.NotContains(t, out, fmt.Sprint(at))
				dead, _ := history(ctx, t, r, "dead")
				require.Equal(t, name == "dead letter", len(dead[fmt.Sprint(at)]) == 1)
			})
		}
	}
}

// collecting has state whose values grow without end.
func collecting() *stream.Topology {
	top := stream.New("collecting")
	top.Stream(stream.NewTopic("narrow", serde.String, serde.String)).GroupByKey().
		Aggregate("collected", func() string { return "" }, func(all, v string) string { return all + strings.Repeat(v, 10_000) }).
		Updates().Map(func(all string) string { return fmt.Sprint(len(all)) }).
		To(stream.NewTopic("sizes", serde.String, serde.String))
	return top
}

// A row that is too large for its changelog stops the app, whatever the policy:
// state that is not backed up is none. Rows that its topic takes are not refused
// because another topic takes less. (C57)
func TestTooLargeForChangelog(t *testing.T) {
	t.Parallel()
	addrs := kafkatest.Fake(t).ListenAddrs()
	kafkatest.CreateTopic(t, addrs, "narrow", 1, nil)
	kafkatest.CreateTopic(t, addrs, "sizes", 1, map[string]string{"max.message.bytes": "10000"})
	cfg := stream.Config{Brokers: addrs, Instance: "one", OnError: stream.Skip()}
	produce := func() {
		kafkatest.Produce(t, addrs, &kgo.Record{Topic: "narrow", Key: []byte("k"), Value: []byte("0123456789")})
	}
	produce()
	i := start(t, &instance{cfg: cfg, top: collecting}, (*stream.App).RunUntilEnd)
	require.NoError(t, i.wait())
	r, ctx := reader(t, addrs)
	sizes, _ := history(ctx, t, r, "sizes")
	require.Equal(t, []string{"100000"}, sizes["k"])

	for range 20 {
		produce()
	}
	i = start(t, &instance{cfg: cfg, top: collecting, fs: i.fs}, (*stream.App).RunUntilEnd)
	err := i.wait()
	require.ErrorIs(t, err, kerr.MessageTooLarge)
	require.ErrorContains(t, err, "collecting-collected-changelog, partition 0, key \"k\"")
	after, _ := history(context.Background(), t, r, "sizes")
	require.Equal(t, sizes, after)
}
