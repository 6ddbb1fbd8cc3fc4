package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/internal/kafkatest"
)

// The children of a run are this program again, be it a test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		os.Exit(child(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// A short run: a few kills, into open transactions, a restore and a rebalance, on a small input.
func TestChaos(t *testing.T) {
	if why := kafkatest.Missing(); why != "" {
		kafkatest.Skip(t, "%s", why)
	}
	seed := uint64(time.Now().UnixNano() % 1_000_000)
	t.Logf("seed %d", seed)
	var out bytes.Buffer
	o := options{seconds: 15, seed: seed, records: 40_000, age: 3 * time.Second, transaction: 30 * time.Second}
	ok, err := run(t.Context(), o, &out, testLog{t})
	require.NoError(t, err)
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	var s summary
	require.NoError(t, json.Unmarshal(lines[len(lines)-1], &s))
	require.True(t, s.Summary)
	require.True(t, ok, "violations: %v, void: %v", s.ViolationList, s.Void)
	require.Greater(t, len(lines), 2, "no faults were reported")
	require.Positive(t, s.Checked[finalsName])
}

// testLog writes progress to the test's log.
type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Logf("%s", bytes.TrimSpace(b))
	return len(b), nil
}
