package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// commitInterval is that of all systems.
const commitInterval = 100 * time.Millisecond

// childArgs say what a child process is to run.
type childArgs struct {
	workload string // a, b, c, raw-tx or raw-consume
	brokers  string
	in, out  string
	id       string // of the consumer group
	dir      string // for state
	profile  string // for a CPU profile; empty for none
}

// args is what a child's command line is made of.
func (w childArgs) args() []string {
	return []string{"-wl", w.workload, "-brokers", w.brokers, "-in", w.in, "-out", w.out, "-id", w.id, "-dir", w.dir, "-cpuprofile", w.profile}
}

// runChild is this program as a child of itself: it works until it is told to stop.
func runChild(system string, args []string) {
	var w childArgs
	flags := flag.NewFlagSet(system, flag.ExitOnError)
	flags.StringVar(&w.workload, "wl", "", "")
	flags.StringVar(&w.brokers, "brokers", "", "")
	flags.StringVar(&w.in, "in", "", "")
	flags.StringVar(&w.out, "out", "", "")
	flags.StringVar(&w.id, "id", "", "")
	flags.StringVar(&w.dir, "dir", "", "")
	flags.StringVar(&w.profile, "cpuprofile", "", "")
	_ = flags.Parse(args) // it exits
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	run := map[string]func(context.Context, childArgs) error{"weir": runWeir, "franz-go": runRaw}[system]
	if run == nil {
		fmt.Fprintf(os.Stderr, "unknown argument %q\n", system)
		os.Exit(2)
	}
	if err := run(ctx, w); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
