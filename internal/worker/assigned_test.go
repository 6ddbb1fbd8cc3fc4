package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// slowToAssign is a logger that holds up the client between what the balancer learns of an assignment and what the client
// does about it, for as long as it takes to open a task.
type slowToAssign struct{}

func (slowToAssign) Level() kgo.LogLevel { return kgo.LogLevelInfo }
func (slowToAssign) Log(_ kgo.LogLevel, msg string, _ ...any) {
	if msg == "new group session begun" {
		<-time.After(500 * time.Millisecond)
	}
}

// A task may be ready before the client has taken its partitions over and paused them: it must not run until then, or
// nobody would resume them.
func TestTasksAwaitTheClientsAssignment(t *testing.T) {
	addrs := kafkatest.Fake(t).ListenAddrs()
	in, out := stream.NewTopic("in", serde.String, serde.String), stream.NewTopic("out", serde.String, serde.Int64)
	kafkatest.CreateTopic(t, addrs, in.Name, 2, nil)
	kafkatest.CreateTopic(t, addrs, out.Name, 1, nil)
	for p := range int32(2) {
		kafkatest.Produce(t, addrs, &kgo.Record{Topic: in.Name, Partition: p, Value: []byte("word")})
	}
	top := stream.New("slow")
	top.Stream(in).GroupBy("words", stream.Identity).Count("counts").Updates().To(out)
	app, err := top.Build(stream.Config{Brokers: addrs, StateDir: t.TempDir(), Workers: 1, Client: []kgo.Opt{kgo.WithLogger(slowToAssign{})}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, app.RunUntilEnd(ctx))
	require.NoError(t, ctx.Err(), "the run did not end")
}
