package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// A trial runs tests on mutants. Most mutants share the binaries of the tests,
// which are built once and told by their environment which mutant to be; those
// outside of functions are built one by one.
type trial struct {
	config
	builder  *builder
	binaries map[string]string // by directory: the tests of all mutants of functions
}

// prepare builds the tests, and makes sure that what kills mutants is what was
// changed.
func (t *trial) prepare(ctx context.Context, sample []mutant) error {
	byFile := map[string][]mutant{}
	for _, m := range sample {
		if m.in != nil {
			byFile[m.file] = append(byFile[m.file], m)
		}
	}
	changed := map[string][]byte{}
	for file, mutants := range byFile {
		src, err := os.ReadFile(filepath.Join(t.root, file))
		if err != nil {
			return err
		}
		changed[file] = together(src, mutants)
		if changed[path.Join(dirOf(file), "chosen_mutant.go")], err = chooser(src); err != nil {
			return err
		}
	}
	overlay, err := t.builder.overlay(changed)
	if err != nil {
		return err
	}
	for _, s := range slices.Concat(own(t.dirs...), t.others) {
		if t.binaries[s.dir], err = t.builder.build(ctx, s.dir, overlay); err != nil {
			return err
		}
		switch killer, err := s.run(ctx, t.root, t.binaries[s.dir], 0, t.cpu); {
		case err != nil:
			return err
		case killer != "":
			return fmt.Errorf("the tests of %s fail without any change (%s)", s.dir, killer)
		}
	}
	return nil
}

// try runs tests up to the first that fails, and returns it.
func (t *trial) try(ctx context.Context, m mutant) (killer string, err error) {
	overlay := ""
	if m.in == nil {
		src, err := os.ReadFile(filepath.Join(t.root, m.file))
		if err != nil {
			return "", err
		}
		if overlay, err = t.builder.overlay(map[string][]byte{m.file: m.apply(src)}); err != nil {
			return "", err
		}
	}
	for _, s := range slices.Concat(own(dirOf(m.file)), t.others) {
		binary := t.binaries[s.dir]
		if m.in == nil {
			if binary, err = t.builder.build(ctx, s.dir, overlay); err != nil {
				return "", err
			}
			defer os.Remove(binary)
		}
		if killer, err = s.run(ctx, t.root, binary, m.id, t.cpu); err != nil || killer != "" {
			return killer, err
		}
	}
	return "", nil
}

// own returns the tests of packages.
func own(dirs ...string) (list []suite) {
	for _, dir := range dirs {
		list = append(list, suite{dir: dir})
	}
	return list
}
