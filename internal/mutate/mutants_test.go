package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestMutants lists the mutants of pieces of code, each as the line that it
// changes looks afterwards.
func TestMutants(t *testing.T) {
	datadriven.RunTest(t, "testdata/mutants.txt", func(t *testing.T, b *datadriven.TestData) string {
		src := "package p\n\n" + b.Input + "\n"
		found, err := mutantsOf("p.go", []byte(src))
		require.NoError(t, err, b.Pos)
		var list strings.Builder
		for _, m := range found {
			after := string(m.apply([]byte(src)))
			require.NotEqual(t, src, after, m)
			require.Equal(t, strings.Count(src, "\n"), strings.Count(after, "\n"), "%v moves other lines", m)
			_, err := parser.ParseFile(token.NewFileSet(), "p.go", after, 0)
			require.NoError(t, err, m)
			line := strings.TrimSpace(strings.Split(after, "\n")[m.line-1])
			fmt.Fprintf(&list, "%d: %-20s | %s\n", m.line-2, m.what, line)
		}
		return list.String()
	})
}

func TestMutantsOfBrokenSource(t *testing.T) {
	_, err := mutantsOf("p.go", []byte("package p\nfunc {"))
	require.ErrorContains(t, err, "p.go:2:6")
}

// Mutants stand together in one source, of which the environment chooses one.
func TestTogether(t *testing.T) {
	src := []byte(`package p

func f(a int) bool { return a < 1 }

func g() {
	f(1)
}
`)
	found, err := mutantsOf("p.go", src)
	require.NoError(t, err)
	require.Len(t, found, 5)
	found[0].id, found[3].id = 7, 8
	require.Equal(t, `package p

func f(a int) bool {
if chosenMutant == 7 {
 return a <= 1 
}
 return a < 1 }

func g() {
if chosenMutant == 8 {

	

return

}

	f(1)
}
`, string(together(src, []mutant{found[3], found[0]})))
}
