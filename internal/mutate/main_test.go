package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tiny module: lib is tested by itself and by user.
var tiny = map[string]string{
	"go.mod": "module tiny\n\ngo 1.24\n",
	"lib/lib.go": `package lib

func Less(a, b int) bool { return a < b }

func Untested(a int) int { return a + a }

func UsersTest(a int) int { return a * a }

func Count(n int) (sum int) {
	for sum != n {
		sum++
	}
	return sum
}

func Text() string { return "a" + "b" }
`,
	"lib/lib_test.go": `package lib

import "testing"

func TestLess(t *testing.T) {
	if !Less(1, 2) || Less(2, 1) || Count(3) != 3 {
		t.Fatal()
	}
}
`,
	"user/user_test.go": `package user

import (
	"testing"
	"tiny/lib"
)

func TestSquare(t *testing.T) {
	if lib.UsersTest(3) != 9 {
		t.Fatal()
	}
}
`,
}

func writeTiny(t *testing.T, change func(path, text string) string) config {
	root := t.TempDir()
	for path, text := range tiny {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(change(path, text)), 0o600))
	}
	return config{
		runner: runner{root: root, timeout: 3 * time.Second},
		dirs:   []string{"lib"}, others: []suite{{"./user", "-test.short"}}, seed: 1, n: 100,
	}
}

func unchanged(_, text string) string { return text }

// run runs the command, and returns what it says of each mutation, and in the end.
func run(t *testing.T, c config) (map[string]string, summary) {
	var out bytes.Buffer
	require.NoError(t, c.run(t.Context(), &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	said := map[string]string{}
	for _, line := range lines[:len(lines)-1] {
		var r report
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		require.Equal(t, r.Killed, r.By != "")
		said[r.At+" "+r.Mutation] = r.By
	}
	var s summary
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &s))
	return said, s
}

func TestTinyModule(t *testing.T) {
	c := writeTiny(t, unchanged)
	said, s := run(t, c)
	require.Equal(t, map[string]string{
		"lib/lib.go:3 < becomes <=":        "", // nobody compares a number with itself
		"lib/lib.go:3 < becomes >=":        "./lib TestLess",
		"lib/lib.go:5 + becomes -":         "",
		"lib/lib.go:7 * becomes /":         "./user TestSquare",
		"lib/lib.go:10 != becomes ==":      "./lib TestLess",
		"lib/lib.go:11 assignment removed": "timeout",
	}, said)
	require.Equal(t, summary{Seed: 1, Possible: 7, Invalid: 1, Mutants: 6, Killed: 4, Timeouts: 1, Percent: 66.6}, s)

	src, err := os.ReadFile(filepath.Join(c.root, "lib/lib.go"))
	require.NoError(t, err)
	require.Equal(t, tiny["lib/lib.go"], string(src), "the sources are left alone")

	c.at, c.n = "lib/lib.go:3", 1
	one, s := run(t, c)
	require.Len(t, one, 1)
	require.Equal(t, 2, s.Possible)
	again, _ := run(t, c)
	require.Equal(t, one, again, "a seed chooses the same mutants again")
}

func TestTestsMustPassFirst(t *testing.T) {
	c := writeTiny(t, func(path, text string) string { return strings.ReplaceAll(text, "!= 9", "!= 10") })
	require.ErrorContains(t, c.run(t.Context(), &bytes.Buffer{}), "[./user -test.short] fails without any change (./user TestSquare)")

	c = writeTiny(t, func(path, text string) string { return strings.ReplaceAll(text, "package user", "package") })
	require.ErrorContains(t, c.run(t.Context(), &bytes.Buffer{}), "fails without any change")

	c.at = "lib/lib.go:1"
	require.ErrorContains(t, c.run(t.Context(), &bytes.Buffer{}), "there is nothing to change in lib lib/lib.go:1")
}
