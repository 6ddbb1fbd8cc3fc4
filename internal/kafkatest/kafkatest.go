// Package kafkatest gives tests a Kafka: a real broker ([Start], [Shared], [Launch]), run from the jars of Maven
// Central, or an embedded one ([Fake]), and the few helpers that nearly every test of the engine needs to fill and read
// topics.
//
// Real brokers need bash, flock, Linux's /proc, Java 17 or newer and Maven. Tests that find them missing are skipped;
// with CI=true in the environment they fail instead, so that no run of the checks passes because it tested nothing.
package kafkatest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Skip skips the test for the given reason, or fails it when CI=true: there, what was not tested has not passed. It is
// the only way by which the project's tests skip themselves.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	if os.Getenv("CI") == "true" {
		t.Fatalf("this test may not be skipped when CI=true: %s", reason)
		return
	}
	t.Skip(reason)
}

// Missing says which of the programs that a real broker needs are not installed; it is empty when there is nothing to
// say.
func Missing() string {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	var missing []string
	for _, program := range []string{"bash", "flock", java, "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "a real Kafka broker needs " + strings.Join(missing, ", ") + ": install Java 17 or newer, Maven and util-linux"
}

// Eventually calls f until it returns nil, and fails the test with its last error when that has not happened by the
// deadline. It calls f at least once, from the caller's goroutine.
func Eventually(t testing.TB, deadline time.Duration, f func() error) {
	t.Helper()
	timeout := time.NewTimer(deadline)
	defer timeout.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-timeout.C:
			t.Fatalf("not so after %v: %v", deadline, err)
			return
		case <-tick.C:
		}
	}
}
