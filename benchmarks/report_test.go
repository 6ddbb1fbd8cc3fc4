package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	run := func(sys, wl string, perCPUSecond float64, ok bool) result {
		return result{
			Sys: sys, WL: wl, In: "in10k", OK: ok, RSSMB: 64,
			RecPerCPUS: perCPUSecond, USPerRec: 1e6 / perCPUSecond, RecS: perCPUSecond / 2,
		}
	}
	var b strings.Builder
	table(&b, []result{
		run("weir", "b", 900_000, true), run("kstreams", "b", 200_000, true), run("franz-go", "raw-tx", 1_600_000, true),
		run("weir", "b", 800_000, true), run("kstreams", "b", 100_000, false), run("weir", "b", 1_000_000, true),
	})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 4)
	words := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	require.Equal(t, "b in10k weir 3 1.11 (1.00–1.25) 900k 450k (400k–500k) 64 4.50 0.56", words(lines[1]))
	require.Equal(t, "b in10k kstreams 1 of 2 FAILED 5.00 (5.00–5.00) 200k 100k (100k–100k) 64 1.00 0.12", words(lines[2]))
	require.Contains(t, lines[3], "tx")
}
