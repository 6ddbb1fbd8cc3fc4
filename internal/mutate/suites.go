package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// A suite is a set of tests: a package, and flags of its tests.
type suite []string

// An outcome is what tests say about a mutant.
type outcome struct {
	built  bool   // false: it does not compile, and so is no mutant
	killer string // what failed: a package and a test, or "timeout"; empty if all passed
}

// A runner runs tests on sources that are changed, without touching a file of
// the module.
type runner struct {
	root    string // directory of the module
	scratch string // directory for its own files
	timeout time.Duration
}

// check runs suites on the mutant, up to the first that fails. An error says why
// that could not be found out.
func (r runner) check(ctx context.Context, m mutant, suites []suite) (outcome, error) {
	overlay, err := r.overlay(m)
	if err != nil {
		return outcome{}, err
	}
	for _, s := range suites {
		o, err := r.test(ctx, s, "-overlay="+overlay)
		if err != nil || !o.built || o.killer != "" {
			return o, err
		}
	}
	return outcome{built: true}, nil
}

// overlay writes the mutant and what tells the go command to take it for the
// original.
func (r runner) overlay(m mutant) (string, error) {
	original, err := filepath.Abs(filepath.Join(r.root, m.file))
	if err != nil {
		return "", err
	}
	src, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed, list := filepath.Join(r.scratch, "mutant.go"), filepath.Join(r.scratch, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	return list, errors.Join(os.WriteFile(changed, m.apply(src), 0o600), os.WriteFile(list, text, 0o600))
}

var (
	failedBuild = regexp.MustCompile(`(?m)^FAIL\t\S+ \[(build|setup) failed\]`)
	failedTest  = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	timedOut    = regexp.MustCompile(`(?m)^panic: test timed out`)
	crashed     = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
)

// limit runs the tests in so little address space that a mutant which allocates
// for ever fails before the machine does.
const limit = `-exec=sh -c 'ulimit -v 16000000; exec "$0" "$@"'`

// test runs one suite.
func (r runner) test(ctx context.Context, s suite, flags ...string) (outcome, error) {
	args := append([]string{"test", "-count=1", "-failfast", "-vet=off", "-timeout=" + r.timeout.String(), limit}, flags...)
	c := exec.CommandContext(ctx, "go", append(args, s...)...)
	c.Dir = r.root
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	var exit *exec.ExitError
	switch text := out.Bytes(); {
	case err == nil:
		return outcome{built: true}, nil
	case ctx.Err() != nil:
		return outcome{}, ctx.Err()
	case !errors.As(err, &exit):
		return outcome{}, err
	case failedBuild.Match(text):
		return outcome{}, nil
	case timedOut.Match(text):
		return outcome{built: true, killer: "timeout"}, nil
	case failedTest.Match(text):
		return outcome{built: true, killer: s[0] + " " + string(failedTest.FindSubmatch(text)[1])}, nil
	case crashed.Match(text):
		return outcome{built: true, killer: s[0] + " " + string(crashed.Find(text))}, nil
	default:
		return outcome{}, fmt.Errorf("cannot make out why %v fails:\n%s", s, text)
	}
}
