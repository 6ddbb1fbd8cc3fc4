package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// A result is what one run gave: a line of standard output.
type result struct {
	Sys        string  `json:"sys"`           // weir, kstreams or franz-go
	WL         string  `json:"wl"`            // the workload
	In         string  `json:"in"`            // the input topic
	PG         string  `json:"pg"`            // the guarantee: eos, or none
	Threads    int     `json:"threads"`       // workers, stream threads
	CommitMs   int64   `json:"commit_ms"`     // the commit interval
	N          int     `json:"n"`             // records of the input; the rest is about the second half of them
	WallS      float64 `json:"wall_s"`        // seconds
	RecS       float64 `json:"rec_s"`         // records per second
	CPUS       float64 `json:"cpu_s"`         // CPU seconds of the process, user and system
	RecPerCPUS float64 `json:"rec_per_cpu_s"` // records per CPU second
	USPerRec   float64 `json:"us_per_rec"`    // CPU microseconds per record
	RSSMB      int64   `json:"rss_mb"`        // peak of the whole run, MiB
	OK         bool    `json:"ok"`            // it ran to its end, and everything it wrote is right
}

func (r *result) fill(m measured) {
	if m.records <= 0 || m.cpu <= 0 || m.wall <= 0 {
		return
	}
	n := float64(m.records)
	r.WallS, r.CPUS, r.RSSMB = m.wall.Seconds(), m.cpu.Seconds(), m.peakMiB
	r.RecS, r.RecPerCPUS, r.USPerRec = n/r.WallS, n/r.CPUS, r.CPUS/n*1e6
}

// A line of the table is all runs of one kind.
type line struct {
	sys, wl, in string
	runs        []result
}

// lines groups the runs by kind, in the order in which the kinds first appeared.
func lines(results []result) (ls []*line) {
	for _, r := range results {
		i := slices.IndexFunc(ls, func(l *line) bool { return l.sys == r.Sys && l.wl == r.WL && l.in == r.In })
		if i < 0 {
			i, ls = len(ls), append(ls, &line{sys: r.Sys, wl: r.WL, in: r.In})
		}
		ls[i].runs = append(ls[i].runs, r)
	}
	return ls
}

// median, least and greatest of a figure of the runs that succeeded.
func (l *line) median(of func(result) float64) (mid, low, high float64) {
	var vs []float64
	for _, r := range l.runs {
		if r.OK {
			vs = append(vs, of(r))
		}
	}
	if len(vs) == 0 {
		return 0, 0, 0
	}
	slices.Sort(vs)
	mid = (vs[len(vs)/2] + vs[(len(vs)-1)/2]) / 2
	return mid, vs[0], vs[len(vs)-1]
}

func perCPUSecond(r result) float64 { return r.RecPerCPUS }

// ratio is how many times the records per CPU second of other the line has; empty if other was not measured.
func (l *line) ratio(ls []*line, sys, wl string) string {
	mine, _, _ := l.median(perCPUSecond)
	for _, o := range ls {
		if o.sys == sys && o.wl == wl && (o.in == l.in || sys == "franz-go") {
			if theirs, _, _ := o.median(perCPUSecond); theirs > 0 {
				return fmt.Sprintf("%.2f", mine/theirs)
			}
		}
	}
	return ""
}

// table writes what the runs amount to: medians, with the least and the greatest.
func table(w io.Writer, results []result) {
	ls := lines(results)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nworkload\tinput\tsystem\truns\tCPU µs/record\trecords/CPU-s\trecords/s\tpeak MiB\t× kstreams\t× raw-tx")
	for _, l := range ls {
		us, low, high := l.median(func(r result) float64 { return r.USPerRec })
		perCPU, _, _ := l.median(perCPUSecond)
		perS, slow, fast := l.median(func(r result) float64 { return r.RecS })
		peak, _, _ := l.median(func(r result) float64 { return float64(r.RSSMB) })
		ok := 0
		for _, r := range l.runs {
			if r.OK {
				ok++
			}
		}
		runs := fmt.Sprint(ok)
		if ok < len(l.runs) {
			runs = fmt.Sprintf("%d of %d FAILED", len(l.runs)-ok, len(l.runs))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.2f (%.2f–%.2f)\t%.0fk\t%.0fk (%.0fk–%.0fk)\t%.0f\t%s\t%s\n",
			strings.TrimPrefix(l.wl, "raw-"), l.in, l.sys, runs, us, low, high,
			perCPU/1e3, perS/1e3, slow/1e3, fast/1e3, peak, l.ratio(ls, "kstreams", l.wl), l.ratio(ls, "franz-go", "raw-tx"))
	}
	_ = t.Flush()
}
