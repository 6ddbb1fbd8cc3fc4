package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// chosen is the environment variable that holds the id of the mutant which a
// test binary is to be.
const chosen = "MUTANT"

// together returns a source that is all of the mutants, which are of one file:
// each function begins with a copy of its body for each of its mutants.
func together(src []byte, mutants []mutant) []byte {
	copies := map[function]string{}
	for _, m := range mutants {
		end := m.in.end - (m.end - m.start) + len(m.with)
		body := string(m.apply(src)[m.in.start+1 : end])
		if !m.in.results {
			body += "\nreturn\n"
		}
		copies[*m.in] += fmt.Sprintf("\nif chosenMutant == %d {\n%s\n}\n", m.id, body)
	}
	var all strings.Builder
	rest := 0
	for _, f := range slices.SortedFunc(maps.Keys(copies), func(a, b function) int { return a.start - b.start }) {
		all.Write(src[rest : f.start+1])
		all.WriteString(copies[f])
		rest = f.start + 1
	}
	all.Write(src[rest:])
	return []byte(all.String())
}

// chooser is the source of what together refers to.
func chooser(src []byte) ([]byte, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\nvar chosenMutant, _ = strconv.Atoi(os.Getenv(%q))\n",
		f.Name.Name, chosen), nil
}

// A builder makes test binaries out of changed sources, without touching a file
// of the module.
type builder struct {
	root    string // directory of the module
	scratch string // directory for its own files
	files   int
}

// overlay writes changed sources, and what tells the go command to take them
// for those of the module.
func (b *builder) overlay(changed map[string][]byte) (string, error) {
	replace := map[string]string{}
	for path, src := range changed {
		original, err := filepath.Abs(filepath.Join(b.root, path))
		if err != nil {
			return "", err
		}
		b.files++
		replace[original] = filepath.Join(b.scratch, fmt.Sprintf("source%d.go", b.files))
		if err := os.WriteFile(replace[original], src, 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	b.files++
	path := filepath.Join(b.scratch, fmt.Sprintf("overlay%d.json", b.files))
	return path, os.WriteFile(path, text, 0o600)
}

// build builds the tests of a package; "" if it has none.
func (b *builder) build(ctx context.Context, dir, overlay string) (string, error) {
	b.files++
	binary := filepath.Join(b.scratch, "tests"+strconv.Itoa(b.files))
	c := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+overlay, "-o="+binary, "./"+dir)
	c.Dir = b.root
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", c.Args, err, out)
	}
	if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return binary, nil
}
