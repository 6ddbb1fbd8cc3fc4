package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/stream"
)

// An ending is what becomes of some requests to commit a transaction.
type ending struct {
	name    string
	applied string        // commit, abort, or empty: the broker does nothing
	code    *kerr.Error   // what it answers; nil: the answer is lost
	lasting time.Duration // for how long it does so from the first time on; 0: once
}

var endings = []ending{
	{name: "committed, reply lost", applied: "commit"},
	{name: "committed, replies lost for long", applied: "commit", lasting: 3 * time.Second},
	{name: "request lost"},
	{name: "requests lost for long", lasting: 3 * time.Second},
	{name: "aborted, reply lost", applied: "abort"},
	{name: "aborted, replies lost for long", applied: "abort", lasting: 3 * time.Second},
	{name: "committed, unknown server error", applied: "commit", code: kerr.UnknownServerError},
	{name: "not committed, unknown server error", code: kerr.UnknownServerError},
	{name: "aborted, unknown server error", applied: "abort", code: kerr.UnknownServerError},
	{name: "committed, timed out", applied: "commit", code: kerr.RequestTimedOut},
	{name: "coordinator is loading", code: kerr.CoordinatorLoadInProgress},
	{name: "fenced", code: kerr.ProducerFenced},
	{name: "committed, fenced", applied: "commit", code: kerr.ProducerFenced},
	{name: "invalid epoch", code: kerr.InvalidProducerEpoch},
	{name: "abortable", code: kerr.TransactionAbortable},
	{name: "concurrent transactions", code: kerr.ConcurrentTransactions},
}

// inject lets the nth commit of a transaction, and what is asked while it lasts,
// have that ending. It returns how many requests had.
func (e ending) inject(t *testing.T, c *kfake.Cluster, nth int64) (hit *atomic.Int64) {
	t.Helper()
	own := kafkatest.NewClient(t, c.ListenAddrs(), kgo.RequestRetries(0))
	var seen atomic.Int64
	var inner atomic.Bool
	hit = &atomic.Int64{}
	var until time.Time
	c.ControlKey(int16(kmsg.EndTxn), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := r.(*kmsg.EndTxnRequest)
		if inner.Load() || !req.Commit && e.lasting == 0 {
			return nil, nil, false
		}
		n := seen.Add(1)
		if n < nth || n > nth && !time.Now().Before(until) {
			return nil, nil, false
		}
		hit.Add(1)
		if n == nth {
			until = time.Now().Add(e.lasting)
			if e.applied != "" {
				e.apply(t, c, own, *req, &inner)
			}
		}
		if e.code == nil {
			return nil, errors.New("the connection dies"), true
		}
		resp := req.ResponseKind().(*kmsg.EndTxnResponse)
		resp.ErrorCode = e.code.Code
		return resp, nil, true
	})
	return hit
}

// apply lets the broker end the transaction by another, equal request.
func (e ending) apply(t *testing.T, c *kfake.Cluster, own *kgo.Client, req kmsg.EndTxnRequest, inner *atomic.Bool) {
	req.Commit = e.applied == "commit"
	done := make(chan struct{})
	inner.Store(true)
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		resp, err := req.RequestWith(ctx, own)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil {
			t.Errorf("the transaction could not be ended beside the app: %v", err)
		}
		inner.Store(false)
	}()
	c.SleepControl(func() { <-done })
}

// Whatever becomes of the end of a transaction, and whatever the broker says of
// it, the app goes on, and the answer is the oracle's. (C55)
func TestEndings(t *testing.T) {
	t.Parallel()
	for _, e := range endings {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			seed := seedOf(t)
			records := input(rand.New(rand.NewPCG(uint64(seed), 0)), 600)
			c := kafkatest.Fake(t)
			cluster(t, c.ListenAddrs(), records)
			cfg := configOf(c.ListenAddrs())
			cfg.TransactionTimeout = 2 * time.Second
			hit := e.inject(t, c, 3)
			i := start(t, &instance{cfg: cfg}, (*stream.App).RunUntilEnd)
			require.NoError(t, i.wait())
			require.Positive(t, hit.Load(), "it did not happen")
			check(t, c.ListenAddrs(), records, i.fs)
		})
	}
}
