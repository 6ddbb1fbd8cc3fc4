// Command mutate measures how much the tests notice. It changes the sources one
// small mistake at a time, and counts how many of the mistakes a test finds.
//
//	go run ./internal/mutate [-seed N] [-n N] [-packages DIR,...] [-at FILE:LINE]
//
// Mutants are chosen at random; the same seed chooses the same ones as long as
// the sources are the same. Standard output is JSON lines: one for each mutant,
// and a summary. A mutant that no test finds means the same as the original, or
// shows what tests are missing: look at each.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// config is what there is to do.
type config struct {
	runner
	dirs   []string // packages to change
	others []suite  // run after a package's own tests
	seed   uint64
	n      int
	at     string // FILE:LINE: only mutants of that line, or of those whose start is this
}

// A report is the line about one mutant.
type report struct {
	At       string `json:"at"`
	Mutation string `json:"mutation"`
	Source   string `json:"source"`
	Killed   bool   `json:"killed"`
	By       string `json:"by,omitempty"`
}

// A summary is the last line.
type summary struct {
	Seed     uint64  `json:"seed"`
	Possible int     `json:"possible"` // mutants that there are, with those that do not compile
	Invalid  int     `json:"invalid"`  // mutants that were chosen and do not compile
	Mutants  int     `json:"mutants"`
	Killed   int     `json:"killed"`
	Timeouts int     `json:"timeouts"` // of those killed
	Percent  float64 `json:"percent"`
}

func main() {
	var c config
	packages := flag.String("packages", "window,watermark,internal/operator", "directories of the sources to change")
	cases := flag.Int("cases", 300, "random cases that streamtest compares with the model")
	flag.Uint64Var(&c.seed, "seed", uint64(time.Now().UnixNano()%1_000_000), "seed of the choice of mutants")
	flag.IntVar(&c.n, "n", 200, "mutants to try")
	flag.DurationVar(&c.timeout, "timeout", time.Minute, "how long a suite of tests may take; a mutant that takes longer is killed")
	flag.StringVar(&c.at, "at", "", "try only mutants at FILE:LINE, or of FILE")
	flag.Parse()
	c.root, c.dirs = ".", strings.Split(*packages, ",")
	c.others = []suite{{"./streamtest", fmt.Sprintf("-model.cases=%d", *cases)}}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := c.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run tries mutants and reports them.
func (c config) run(ctx context.Context, w io.Writer) (err error) {
	if c.scratch, err = os.MkdirTemp("", "mutate-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.scratch)
	mutants, err := c.mutants()
	if err != nil {
		return err
	}
	if err := c.baseline(ctx); err != nil {
		return err
	}
	rand.New(rand.NewPCG(c.seed, 0)).Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	s := summary{Seed: c.seed, Possible: len(mutants)}
	for _, m := range mutants {
		if s.Mutants == c.n {
			break
		}
		o, err := c.check(ctx, m, c.suites(filepath.Dir(m.file)))
		if err != nil {
			return fmt.Errorf("%v: %w", m, err)
		}
		if !o.built {
			s.Invalid++
			continue
		}
		s.add(o)
		at := fmt.Sprintf("%s:%d", m.file, m.line)
		if err := out.Encode(report{At: at, Mutation: m.what, Source: m.text, Killed: o.killer != "", By: o.killer}); err != nil {
			return err
		}
	}
	return out.Encode(s)
}

// add counts one mutant.
func (s *summary) add(o outcome) {
	s.Mutants++
	if o.killer != "" {
		s.Killed++
	}
	if o.killer == "timeout" {
		s.Timeouts++
	}
	s.Percent = float64(1000*s.Killed/s.Mutants) / 10
}

// mutants returns the mutants to choose from.
func (c config) mutants() ([]mutant, error) {
	var all []mutant
	for _, dir := range c.dirs {
		paths, err := filepath.Glob(filepath.Join(c.root, dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			found, err := mutantsOf(dir+"/"+filepath.Base(path), src)
			if err != nil {
				return nil, err
			}
			for _, m := range found {
				if at := fmt.Sprintf("%s:%d", m.file, m.line); c.at == "" || at == c.at || m.file == c.at {
					all = append(all, m)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is nothing to change in %s %s", strings.Join(c.dirs, ", "), c.at)
	}
	return all, nil
}

// suites returns the tests of a package: its own, and then the others.
func (c config) suites(dir string) []suite {
	return append([]suite{{"./" + filepath.ToSlash(dir)}}, c.others...)
}

// baseline makes sure that what kills mutants is what was changed.
func (c config) baseline(ctx context.Context) error {
	suites := c.others
	for _, dir := range c.dirs {
		suites = append([]suite{{"./" + dir}}, suites...)
	}
	for _, s := range suites {
		o, err := c.test(ctx, s)
		if err != nil {
			return err
		}
		if !o.built || o.killer != "" {
			return fmt.Errorf("%v fails without any change (%s)", s, o.killer)
		}
	}
	return nil
}
