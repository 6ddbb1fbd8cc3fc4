package tidy

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

func TestTree(t *testing.T) {
	findings := Check(tree(t))
	for _, f := range findings {
		t.Error(f)
	}
	if len(findings) > 0 {
		t.Logf("%d findings; the rules and the reasons for them are in internal/tidy", len(findings))
	}
}

// TestRules checks each rule on sources that break it and on sources that do not.
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			require.Equal(t, "check", d.Cmd, d.Pos)
			var file string
			d.ScanArgs(t, "file", &file)
			text := d.Input + "\n"
			if d.HasArg("repeat") { // the last line that is no brace, that often
				var n int
				d.ScanArgs(t, "repeat", &n)
				text = strings.Replace(text, "REPEAT", strings.Repeat("\n", n-1), 1)
			}
			var out strings.Builder
			for _, f := range Check(map[string]string{file: text}) {
				out.WriteString(f.String() + "\n")
			}
			if out.Len() == 0 {
				return "fine\n"
			}
			return out.String()
		})
	})
}

// Packages that the table of layers does not know could import anything.
func TestEveryPackageHasALayer(t *testing.T) {
	for path := range tree(t) {
		if dir := top(path); strings.HasSuffix(path, ".go") && strings.Contains(path, "/") {
			require.Contains(t, layers, dir)
		}
	}
}

// tree reads every file of the module that git tracks or would track, less the cases of these rules.
func tree(t *testing.T) map[string]string {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	files := map[string]string{}
	for _, path := range paths(t, root) {
		if strings.HasPrefix(path, "internal/tidy/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // deleted, but not yet committed
		}
		require.NoError(t, err)
		files[path] = string(text)
	}
	require.Greater(t, len(files), 10, "where is the source?")
	return files
}

// paths lists the files by git, which knows what is ignored, or all there are where the source came without git.
func paths(t *testing.T, root string) []string {
	list := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	if out, err := list.Output(); err == nil {
		return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	}
	var all []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			relative, _ := filepath.Rel(root, path)
			all = append(all, filepath.ToSlash(relative))
		}
		return err
	}))
	return all
}
