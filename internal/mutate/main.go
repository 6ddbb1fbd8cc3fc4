// Command mutate measures how much the tests notice. It changes the sources, one
// small mistake at a time, and counts how many of the mistakes a test finds.
//
//	go run ./internal/mutate [-seed N] [-n N] [-packages DIR,...] [-at FILE:LINE]
//
// Mutants are chosen at random; a seed chooses the same ones for as long as the
// sources stay the same. Standard output is JSON lines: one for each mutant, and
// a summary. A mutant that no test finds means the same as the original, or
// shows what tests are missing: look at each.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	var c config
	packages := flag.String("packages", "window,watermark,internal/operator", "directories of the sources to change")
	cases := flag.Int("cases", 300, "random cases that streamtest compares with the model")
	flag.Uint64Var(&c.seed, "seed", uint64(time.Now().UnixNano()%1_000_000), "seed of the choice of mutants")
	flag.IntVar(&c.n, "n", 200, "mutants to try")
	flag.DurationVar(&c.cpu, "timeout", 15*time.Second, "CPU time that the tests of a package may take; a mutant that takes more is killed")
	flag.StringVar(&c.at, "at", "", "choose from the mutants at FILE:LINE, or of FILE")
	flag.Parse()
	c.root, c.dirs = ".", strings.Split(*packages, ",")
	c.others = []suite{{"streamtest", []string{fmt.Sprintf("-model.cases=%d", *cases)}}}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := c.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}
