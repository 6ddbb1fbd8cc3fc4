package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirstream/weir/stream"
)

// A childConfig is what the parent tells a child on its command line.
type childConfig struct {
	Brokers     string
	Instance    string
	Dir         string
	Commit      time.Duration
	Age         time.Duration // CheckpointAge
	Session     time.Duration
	Transaction time.Duration
}

func (c *childConfig) flags(f *flag.FlagSet) {
	f.StringVar(&c.Brokers, "brokers", "", "host:port of the brokers, comma-separated")
	f.StringVar(&c.Instance, "instance", "", "instance id")
	f.StringVar(&c.Dir, "dir", "", "state directory")
	f.DurationVar(&c.Commit, "commit", time.Second, "commit interval")
	f.DurationVar(&c.Age, "age", 10*time.Second, "checkpoint age")
	f.DurationVar(&c.Session, "session", 6*time.Second, "session timeout")
	f.DurationVar(&c.Transaction, "transaction", 15*time.Second, "transaction timeout")
}

func (c *childConfig) args() []string {
	return []string{
		"child", "-brokers=" + c.Brokers, "-instance=" + c.Instance, "-dir=" + c.Dir, fmt.Sprint("-commit=", c.Commit),
		fmt.Sprint("-age=", c.Age), fmt.Sprint("-session=", c.Session), fmt.Sprint("-transaction=", c.Transaction),
	}
}

const childMemory = 192 << 20

// child runs the topology until it is told to stop. Standard output is its log in JSON, and a status every now and then;
// standard input ends when the parent has died.
func child(args []string) int {
	var c childConfig
	f := flag.NewFlagSet("chaos child", flag.ContinueOnError)
	c.flags(f)
	if err := f.Parse(args); err != nil {
		return 2
	}
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	metrics := prometheus.NewRegistry()
	app, err := topology().Build(stream.Config{
		Brokers: strings.Split(c.Brokers, ","), Instance: c.Instance, StateDir: c.Dir, Workers: workers, MemoryLimit: childMemory,
		CommitInterval: c.Commit, CheckpointAge: c.Age, SessionTimeout: c.Session, TransactionTimeout: c.Transaction,
		Logger: log, Metrics: metrics,
	})
	if err != nil {
		log.Error("cannot build the app", "error", err)
		return 1
	}
	reported := make(chan struct{})
	rctx, stop := context.WithCancel(context.Background())
	go func() {
		defer close(reported)
		report(rctx, metrics, app.Ready)
	}()
	err = app.Run(ctx)
	stop()
	<-reported
	if err != nil {
		log.Error("the app has stopped", "error", err)
		return 1
	}
	return 0
}

// A status is what a child says of itself.
type status struct {
	Ready     bool    `json:"ready"`
	Replayed  float64 `json:"replayed"`  // records of changelogs since the start
	Remaining float64 `json:"remaining"` // records of changelogs still to be replayed
	In        float64 `json:"in"`        // committed
	Aborts    float64 `json:"aborts"`
	Rebuilds  float64 `json:"rebuilds"`
	Unwritten float64 `json:"unwritten"`
}

// statusEvery is how often a child tells its status: a restore lasts longer.
const statusEvery = 50 * time.Millisecond

// report writes the status until ctx ends. It reads the metrics, as an operator of the app would.
func report(ctx context.Context, from prometheus.Gatherer, ready func() error) {
	t := time.NewTicker(statusEvery)
	defer t.Stop()
	out := json.NewEncoder(os.Stdout)
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			v := sums(from)
			_ = out.Encode(map[string]status{"status": {
				Ready: ready() == nil, Replayed: v["weir_restored_records"], Remaining: v["weir_restore_remaining_records"],
				In: v["weir_records_in_total"], Aborts: v["weir_aborts_total"], Rebuilds: v["weir_client_rebuilds_total"],
				Unwritten: v["weir_unwritten_rows"],
			}})
		}
	}
}

// sums adds up each metric over its labels.
func sums(from prometheus.Gatherer) map[string]float64 {
	sum := map[string]float64{}
	families, err := from.Gather()
	if err != nil {
		return sum
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			sum[f.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}
