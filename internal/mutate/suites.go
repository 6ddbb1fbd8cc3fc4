package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// A suite is a set of tests: the directory of a package, and flags of its tests.
type suite struct {
	dir   string
	flags []string
}

var (
	failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	timedOut   = regexp.MustCompile(`(?m)^panic: test timed out`)
	crashed    = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
)

// timeout is how a mutant was killed that does not end.
const timeout = "timeout"

// limits bound what tests take: address space, since a mutant may allocate for
// ever, and CPU time, which says more than the clock where others work too.
const limits = `ulimit -v 4000000; ulimit -t "$0"; exec "$@"`

// run runs a suite's binary as a mutant, or as the original if its id is 0, and
// returns what failed: a package and a test, or timeout; "" if all passed. It
// runs in a copy of the package's directory, since some tests write down what
// failed, and next time begin with that.
func (s suite) run(ctx context.Context, root, binary string, id int, cpu time.Duration) (killer string, err error) {
	if binary == "" {
		return "", nil
	}
	dir, err := os.MkdirTemp(filepath.Dir(binary), "directory")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, s.dir))); err != nil {
		return "", err
	}
	args := append([]string{"-c", limits, fmt.Sprintf("%.0f", cpu.Seconds()), binary, "-test.failfast", "-test.timeout=10m"}, s.flags...)
	c := exec.CommandContext(ctx, "sh", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", chosen, id))
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err = c.Run()
	var exit *exec.ExitError
	switch text := out.Bytes(); {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case !errors.As(err, &exit):
		return "", err
	case exit.ExitCode() < 0, timedOut.Match(text): // a signal: the limit of CPU time
		return timeout, nil
	case failedTest.Match(text):
		return s.dir + " " + string(failedTest.FindSubmatch(text)[1]), nil
	case crashed.Match(text):
		return s.dir + " " + string(crashed.Find(text)), nil
	default:
		return "", fmt.Errorf("cannot make out why the tests of %s fail:\n%s", s.dir, text)
	}
}
