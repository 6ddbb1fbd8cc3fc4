package tidy

import (
	"slices"
	"strconv"
	"strings"
)

// layers says what each of our packages may import of ours, besides itself and its subpackages. Packages of programs
// (package main) may import anything, and tests do as they like.
var layers = map[string][]string{
	"window":     {},
	"watermark":  {},
	"serde":      {"window"},
	"state":      {"serde", "window", "watermark"},
	"join":       {"window"},
	"checkpoint": {"state", "watermark"},
	"internal":   {"serde", "window", "watermark", "state", "join", "checkpoint"},
	"stream":     {"serde", "window", "watermark", "state", "join", "checkpoint", "internal"},
	"streamtest": {"serde", "window", "watermark", "state", "join", "checkpoint", "internal", "stream"},
	"cmd":        {"serde", "window", "watermark", "state", "join", "checkpoint", "internal", "stream", "streamtest", "examples"},
	"examples":   {"serde", "window", "watermark", "state", "join", "checkpoint", "stream", "streamtest"},
	"benchmarks": {"serde", "window", "watermark", "state", "join", "checkpoint", "internal", "stream", "streamtest"},
}

// harnesses are the internal packages that drive whole applications, and so stand above stream.
var harnesses = []string{"internal/chaos"}

// testOnly are packages that only tests, harnesses and programs import.
var testOnly = []string{"internal/kafkatest", "internal/tidy"}

// pure packages are functions of their arguments: a test can step through all they do.
var pure = []string{"window", "watermark", "serde", "join"}

// effects are the packages by which one reaches files, sockets and processes, each with all that is below it.
var effects = []string{
	"os", "net", "syscall", "log", "github.com/twmb/franz-go", "github.com/cockroachdb/pebble",
}

func (c *checker) layering(f *file) {
	if f.isTest() || f.dir() == "" {
		return
	}
	for _, spec := range f.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		if isPure(f) && slices.ContainsFunc(effects, func(e string) bool { return within(target, e) }) {
			c.report(f, spec.Pos(), "effect in a pure package", "%s is pure: hand what %s gives in at the edge", top(f.path), target)
		}
		if ours, ok := strings.CutPrefix(target, Module+"/"); ok && f.Name.Name != "main" && !mayImport(f.dir(), ours) {
			c.report(f, spec.Pos(), "layering", "%s must not import %s; it may import %s",
				f.dir(), ours, orNothing(strings.Join(layers[top(f.path)], ", ")))
		}
	}
}

// mayImport says whether the package in directory from, which is no program, may import the package in directory to.
func mayImport(from, to string) bool {
	isHarness := slices.ContainsFunc(harnesses, func(h string) bool { return within(from, h) })
	isTestOnly := slices.ContainsFunc(testOnly, func(p string) bool { return within(to, p) })
	switch {
	case isHarness:
		return true
	case isTestOnly:
		return top(from) == "benchmarks"
	case top(from) == top(to):
		return true
	}
	return slices.Contains(layers[top(from)], top(to))
}

func isPure(f *file) bool { return slices.Contains(pure, top(f.path)) }

// within says whether an import path or a directory is the given one or lies below it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// top returns the first part of a path.
func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

func orNothing(list string) string {
	if list == "" {
		return "nothing of ours"
	}
	return list
}
