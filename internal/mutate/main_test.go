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

const one = 1

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

func Named(n int) (err error) {
	m, err := 0, error(nil)
	_ = m
	return err
}

var seen int

func See[T any](n T) {
	seen--
	seen += 2
}
`,
	"lib/lib_test.go": `package lib

import "testing"

func TestLess(t *testing.T) {
	if !Less(1, 2) || Less(2, 1) || Count(3) != 3 || one != 1 {
		t.Fatal()
	}
	if See(0); seen != 1 {
		panic("seen")
	}
}
`,
	"user/user_test.go": `package user

import (
	"flag"
	"os"
	"testing"
	"tiny/lib"
)

var factor = flag.Int("factor", 0, "")

func TestSquare(t *testing.T) {
	if os.Mkdir("seen", 0o700) != nil {
		t.Fatal("this directory was used before")
	}
	if lib.UsersTest(3) != *factor*3 {
		t.Fatal()
	}
}
`,
}

func writeTiny(t *testing.T, old, new string) config {
	root := t.TempDir()
	for path, text := range tiny {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, old, new)), 0o600))
	}
	return config{root: root, dirs: []string{"lib"}, others: []suite{{"user", []string{"-factor=3"}}}, seed: 1, n: 100, cpu: time.Second}
}

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
	c := writeTiny(t, "", "")
	said, s := run(t, c)
	require.Equal(t, map[string]string{
		"lib/lib.go:3:13 1 becomes 0":        "lib TestLess", // built for itself
		"lib/lib.go:5:37 < becomes <=":       "",             // nobody compares a number with itself
		"lib/lib.go:5:37 < becomes >=":       "lib TestLess",
		"lib/lib.go:7:37 + becomes -":        "",
		"lib/lib.go:9:38 * becomes /":        "user TestSquare",
		"lib/lib.go:12:10 != becomes ==":     "lib TestLess",
		"lib/lib.go:13:3 assignment removed": "timeout",
		"lib/lib.go:21:12 0 becomes 1":       "", // built for itself
		"lib/lib.go:29:2 assignment removed": "lib TestLess",
		"lib/lib.go:30:2 assignment removed": "lib TestLess",
		"lib/lib.go:30:10 2 becomes 3":       "lib TestLess",
	}, said)
	require.Equal(t, summary{Seed: 1, Possible: 13, Mutants: 11, Killed: 8, Timeouts: 1, Percent: 72.7}, s)

	src, err := os.ReadFile(filepath.Join(c.root, "lib/lib.go"))
	require.NoError(t, err)
	require.Equal(t, tiny["lib/lib.go"], string(src), "the sources are left alone")

	c.at, c.n = "lib/lib.go:5", 1
	one, s := run(t, c)
	require.Len(t, one, 1)
	require.Equal(t, 2, s.Possible)
	again, _ := run(t, c)
	require.Equal(t, one, again, "a seed chooses the same mutants again")
}

func TestTestsMustPassFirst(t *testing.T) {
	c := writeTiny(t, "factor*3", "factor*4")
	require.ErrorContains(t, c.run(t.Context(), &bytes.Buffer{}), "the tests of user fail without any change (user TestSquare)")

	c = writeTiny(t, "package user", "package")
	require.ErrorContains(t, c.run(t.Context(), &bytes.Buffer{}), "user_test.go:")

	c.at = "lib/lib.go:1"
	require.ErrorContains(t, c.run(t.Context(), &bytes.Buffer{}), "there is nothing to change in lib lib/lib.go:1")
}
