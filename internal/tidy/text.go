package tidy

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// rootEntries are the files and directories that the root of the module may hold: it is the first thing a user sees.
var rootEntries = []string{
	".ci", ".gitignore", "LICENSE", "Makefile", "README.md", "go.mod", "go.sum",
	"benchmarks", "checkpoint", "cmd", "docs", "examples", "internal", "join", "serde", "state", "stream", "streamtest",
	"watermark", "window",
}

// textRules apply to every line of every text file. The words are taken apart here, or this file would break its rules.
var textRules = []struct {
	pattern    *regexp.Regexp
	rule, hint string
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), "leftover", "do it now, or open an issue"},
	{regexp.MustCompile("(^|[\\s\"'`(=:])/(work|root|home|Users)/\\w"), "machine path", "no path of one machine may be written down"},
	{regexp.MustCompile(`^(<{7}|>{7}|={7})( |$)`), "merge conflict", "resolve it"},
}

const maxColumns = 140

// root checks that a path begins with something that belongs at the root.
func (c *checker) root(path string) {
	if !slices.Contains(rootEntries, top(path)) {
		c.findings = append(c.findings, Finding{path, 1, "root", "the root holds only " + strings.Join(rootEntries, " ")})
	}
}

func (c *checker) text(path, text string) {
	if path == "LICENSE" || path == "go.sum" || !utf8.ValidString(text) {
		return
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		for _, r := range textRules {
			if r.pattern.MatchString(line) {
				c.findings = append(c.findings, Finding{path, number, r.rule, r.hint})
			}
		}
		if strings.HasSuffix(path, ".go") && utf8.RuneCountInString(line) > maxColumns {
			c.findings = append(c.findings, Finding{path, number, "long line", "break it before column 140"})
		}
	}
}
