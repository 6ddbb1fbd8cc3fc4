// Command benchmarks runs the same work through Weir, Kafka Streams and bare franz-go, on one Kafka broker that it
// starts, and compares what a record costs.
//
//	go run ./benchmarks [-reps 3] [-quick] [-only a,b,c] [-sys weir,kstreams,franz-go]
//
// Standard output gets one JSON object per run, standard error a table. Each run is a process of its own, measured from
// outside and in the same way for all: see measure.go. The exit status is 1 if any run failed, or wrote a wrong result.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/weirstream/weir/internal/kafkatest"
)

// settings are what the command line says.
type settings struct {
	reps    int
	records int
	quick   bool
	only    string
	systems string
	profile string // folder for CPU profiles of Weir's runs
}

func main() {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		runChild(os.Args[1], os.Args[2:])
		return
	}
	var s settings
	flag.IntVar(&s.reps, "reps", 3, "how often each run is repeated")
	flag.IntVar(&s.records, "n", 4_000_000, "records of each input topic")
	flag.BoolVar(&s.quick, "quick", false, "once, with fewer records: to see that it works, not to quote")
	flag.StringVar(&s.only, "only", "a,b,c", "the workloads")
	flag.StringVar(&s.systems, "sys", "weir,kstreams,franz-go", "the systems")
	flag.StringVar(&s.profile, "cpuprofile", "", "a folder for CPU profiles of Weir's runs")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unknown argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	if s.quick {
		s.reps, s.records = 1, s.records/2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := benchmark(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

// benchmark runs everything that was asked for.
func benchmark(ctx context.Context, s settings) error {
	if why := kafkatest.Missing(); why != "" {
		return fmt.Errorf("%s", why)
	}
	broker, err := kafkatest.Launch(kafkatest.Heap("1g"), kafkatest.Set("log.segment.delete.delay.ms=1000"))
	if err != nil {
		return err
	}
	defer broker.Close()
	b, err := newBench(ctx, broker.Addr(), s)
	if err != nil {
		return err
	}
	defer b.close()
	for rep := range s.reps {
		for _, w := range b.plan() {
			fmt.Fprintf(os.Stderr, "%d/%d %v\n", rep+1, s.reps, w)
			r := b.run(ctx, w)
			if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
				return err
			}
			b.results = append(b.results, r)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	table(os.Stderr, b.results)
	if slices.ContainsFunc(b.results, func(r result) bool { return !r.OK }) {
		return fmt.Errorf("not every run succeeded: see above")
	}
	return nil
}
