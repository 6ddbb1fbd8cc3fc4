package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// config is what there is to do.
type config struct {
	root   string   // directory of the module
	dirs   []string // of packages to change
	others []suite  // run after a package's own tests
	seed   uint64
	n      int
	at     string // FILE:LINE or FILE: only mutants of these
	cpu    time.Duration
}

// A report is the line about one mutant.
type report struct {
	At       string `json:"at"` // FILE:LINE:COLUMN
	Mutation string `json:"mutation"`
	Source   string `json:"source"`
	Killed   bool   `json:"killed"`
	By       string `json:"by,omitempty"`
}

// A summary is the last line.
type summary struct {
	Seed     uint64  `json:"seed"`
	Possible int     `json:"possible"` // mutants that there are to choose from, with those that do not compile
	Mutants  int     `json:"mutants"`
	Killed   int     `json:"killed"`
	Timeouts int     `json:"timeouts"` // of those killed
	Percent  float64 `json:"percent"`
}

// run tries mutants and reports them.
func (c config) run(ctx context.Context, w io.Writer) error {
	scratch, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	all, err := c.mutants()
	if err != nil {
		return err
	}
	sample, err := c.choose(ctx, all)
	if err != nil {
		return err
	}
	t := trial{config: c, builder: &builder{root: c.root, scratch: scratch}, binaries: map[string]string{}}
	if err := t.prepare(ctx, sample); err != nil {
		return err
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	s := summary{Seed: c.seed, Possible: len(all)}
	for _, m := range sample {
		killer, err := t.try(ctx, m)
		if err != nil {
			return fmt.Errorf("%v: %w", m, err)
		}
		s.add(killer)
		at := fmt.Sprintf("%s:%d:%d", m.file, m.line, m.column)
		if err := out.Encode(report{At: at, Mutation: m.what, Source: m.text, Killed: killer != "", By: killer}); err != nil {
			return err
		}
	}
	return out.Encode(s)
}

// add counts one mutant.
func (s *summary) add(killer string) {
	s.Mutants++
	if killer != "" {
		s.Killed++
	}
	if killer == timeout {
		s.Timeouts++
	}
	s.Percent = float64(1000*s.Killed/s.Mutants) / 10
}

// mutants returns the mutants to choose from.
func (c config) mutants() ([]mutant, error) {
	var all []mutant
	for _, dir := range c.dirs {
		paths, err := sources(c.root, dir)
		if err != nil {
			return nil, err
		}
		for _, file := range paths {
			src, err := os.ReadFile(filepath.Join(c.root, file))
			if err != nil {
				return nil, err
			}
			found, err := mutantsOf(file, src)
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

// choose returns as many mutants that compile as are asked for, if there are
// that many, and gives them ids. Those that take long to build come last.
func (c config) choose(ctx context.Context, all []mutant) ([]mutant, error) {
	check, err := newChecker(ctx, c.root, c.dirs)
	if err != nil {
		return nil, err
	}
	rand.New(rand.NewPCG(c.seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var sample []mutant
	for _, m := range all {
		if len(sample) == c.n {
			break
		}
		src, err := os.ReadFile(filepath.Join(c.root, m.file))
		if err != nil {
			return nil, err
		}
		if check.compiles(m.file, m.apply(src)) {
			m.id = len(sample) + 1
			sample = append(sample, m)
		}
	}
	slices.SortStableFunc(sample, func(a, b mutant) int {
		switch {
		case (a.in == nil) == (b.in == nil):
			return 0
		case a.in == nil:
			return 1
		}
		return -1
	})
	return sample, nil
}

// sources returns the files of a package, less its tests.
func sources(root, dir string) (files []string, err error) {
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	for _, p := range paths {
		if !strings.HasSuffix(p, "_test.go") {
			files = append(files, path.Join(dir, filepath.Base(p)))
		}
	}
	return files, err
}

func dirOf(file string) string { return path.Dir(file) }
