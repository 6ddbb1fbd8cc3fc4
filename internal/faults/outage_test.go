package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/stream"
)

// Brokers that cannot be reached for longer than every timeout are waited for,
// whenever it happens, and nothing is lost or done twice. (C91)
func TestOutage(t *testing.T) {
	t.Parallel()
	for _, guarantee := range []stream.Guarantee{stream.ExactlyOnce, stream.AtLeastOnce} {
		for _, when := range []string{"idle", "busy", "opening"} {
			t.Run(fmt.Sprintf("%v/%s", guarantee, when), func(t *testing.T) {
				t.Parallel()
				records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 600)
				addrs := kafkatest.Fake(t).ListenAddrs()
				cluster(t, addrs, records[:200])
				cfg := configOf(addrs)
				cfg.Guarantee, cfg.SessionTimeout, cfg.TransactionTimeout = guarantee, 6*time.Second, 3*time.Second
				i := start(t, &instance{cfg: cfg}, (*stream.App).Run)
				r, ctx := reader(t, addrs)
				switch when {
				case "opening":
					kafkatest.Eventually(t, patience, func() error { // the group, but not all tasks
						_, err := r.Offsets(ctx, "job")
						return err
					})
				case "idle":
					settled(t, addrs)
				}
				if when == "busy" {
					kafkatest.Eventually(t, patience, i.ready)
					fill(t, addrs, records[200:400])
				}
				i.net.Break()
				fill(t, addrs, records[rest(when):])
				after := time.NewTimer(8 * time.Second)
				<-after.C
				i.net.Mend()
				began := time.Now()
				settled(t, addrs)
				t.Logf("caught up after %v", time.Since(began))
				require.NoError(t, i.stop())
				last := start(t, &instance{cfg: cfg, fs: i.fs}, (*stream.App).RunUntilEnd)
				require.NoError(t, last.wait())
				if guarantee == stream.AtLeastOnce {
					checkAtLeast(t, addrs, records)
					return
				}
				check(t, addrs, records, last.fs)
			})
		}
	}
}

func rest(when string) int {
	if when == "busy" {
		return 400
	}
	return 200
}

// An app that is started while no broker can be reached waits a while for one.
func TestStartDuringOutage(t *testing.T) {
	t.Parallel()
	records := input(rand.New(rand.NewPCG(uint64(seedOf(t)), 0)), 300)
	addrs := kafkatest.Fake(t).ListenAddrs()
	cluster(t, addrs, records)
	net := &network{}
	net.Break()
	i := start(t, &instance{cfg: configOf(addrs), net: net}, (*stream.App).RunUntilEnd)
	mend := time.AfterFunc(3*time.Second, net.Mend)
	defer mend.Stop()
	require.NoError(t, i.wait())
	check(t, addrs, records, i.fs)
}

// Connections that die every few hundred milliseconds slow an app down, but do
// not stop it.
func TestFlakyNetwork(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(seedOf(t)), 0))
			records := input(rng, 900)
			addrs := kafkatest.Fake(t).ListenAddrs()
			cluster(t, addrs, records)
			cfg := configOf(addrs)
			cfg.SessionTimeout, cfg.TransactionTimeout = 6*time.Second, 3*time.Second
			i := start(t, &instance{cfg: cfg}, (*stream.App).RunUntilEnd)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				for ctx.Err() == nil {
					i.net.Break()
					i.net.Mend()
					again := time.NewTimer(time.Duration(5+rng.IntN(150)) * time.Millisecond)
					select {
					case <-again.C:
					case <-i.ended:
						return
					}
				}
			}()
			require.NoError(t, i.wait())
			check(t, addrs, records, i.fs)
		})
	}
}
