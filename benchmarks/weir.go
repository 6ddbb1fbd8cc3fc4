package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// topology is a workload as a user of Weir writes it.
func topology(w childArgs) *stream.Topology {
	top := stream.New(w.id)
	in := top.Stream(stream.NewTopic(w.in, serde.Bytes, serde.Bytes))
	switch w.workload {
	case "a":
		in.Map(flipped).To(stream.NewTopic(w.out, serde.Bytes, serde.Bytes))
	case "b":
		size := windowMs * time.Millisecond
		in.GroupByKey().
			Windowed(window.Tumbling(size).Grace(graceMs * time.Millisecond)).
			Count("counts").
			Updates().
			SelectKeyRecord(stream.WindowKey).
			To(stream.NewTopic(w.out, serde.TimeWindowed(serde.Bytes, size), serde.Int64))
	case "c":
		in.SelectKey(func(v []byte) []byte { return v[:8] }).
			Repartition("by-user", stream.Partitions(partitions)).
			GroupByKey().
			Count("counts").
			Updates().
			To(stream.NewTopic(w.out, serde.Bytes, serde.Int64))
	}
	return top
}

// flipped is a new value that differs from v in the last byte.
func flipped(v []byte) []byte {
	v = bytes.Clone(v)
	v[len(v)-1] ^= 1
	return v
}

// runWeir runs a workload until ctx ends.
func runWeir(ctx context.Context, w childArgs) error {
	if w.profile != "" {
		f, err := os.Create(w.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	app, err := topology(w).Build(stream.Config{
		Brokers: []string{w.brokers}, StateDir: w.dir, Workers: 1, CommitInterval: commitInterval, Replication: 1,
		Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return fmt.Errorf("build workload %s: %w", w.workload, err)
	}
	return app.Run(ctx)
}
