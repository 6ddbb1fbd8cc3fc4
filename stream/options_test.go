package stream

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// Options of the client pass, but for those that would break what Weir promises.
func TestClientOptions(t *testing.T) {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) { return nil, net.ErrClosed }
	for name, opt := range map[string]kgo.Opt{
		"logger": kgo.WithLogger(kgo.BasicLogger(nil, kgo.LogLevelNone, nil)), "dialer": kgo.Dialer(dial), "tls": kgo.DialTLS(),
		"sasl": kgo.SASL(plain.Auth{User: "u", Pass: "p"}.AsMechanism()), "rack": kgo.Rack("r1"), "linger": kgo.ProducerLinger(time.Second),
	} {
		require.NoError(t, ownOptions([]kgo.Opt{opt}), name)
	}
	for name, opt := range map[string]kgo.Opt{
		"SeedBrokers": kgo.SeedBrokers("other:9092"), "Balancers": kgo.Balancers(kgo.RangeBalancer()),
		"RecordPartitioner": kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), "ConsumerGroup": kgo.ConsumerGroup("g"),
		"FetchIsolationLevel": kgo.FetchIsolationLevel(kgo.ReadCommitted()), "RequiredAcks": kgo.DisableIdempotentWrite(),
		"TransactionalID": kgo.TransactionalID("t"), "SessionTimeout": kgo.SessionTimeout(time.Minute),
	} {
		require.Error(t, ownOptions([]kgo.Opt{kgo.Rack("r1"), opt}), name)
	}
}
