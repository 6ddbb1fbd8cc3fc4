package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/examples/wordcount"
	"github.com/weirstream/weir/stream"
)

// wordcountJob shows the results of the word count: each new count, and the most
// frequent words at the end.
type wordcountJob struct {
	out    io.Writer
	data   string
	lines  []string
	counts map[string]int64
}

func newWordcountJob(o *options, out io.Writer) (*wordcountJob, error) {
	text := wordcount.Speech
	if o.data != "" {
		raw, err := os.ReadFile(o.data)
		if err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		}
		text = string(raw)
	}
	j := &wordcountJob{out: out, data: cmp.Or(o.data, "speech"), counts: map[string]int64{}}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			j.lines = append(j.lines, line)
		}
	}
	return j, nil
}

func (j *wordcountJob) name() string               { return "wordcount" }
func (j *wordcountJob) describe() string           { return "wordcount: the words of a text" }
func (j *wordcountJob) topology() *stream.Topology { return wordcount.Topology() }
func (j *wordcountJob) topics() []string {
	return []string{wordcount.Lines.Name, wordcount.Counts.Name}
}

func (j *wordcountJob) records(partitions int32) ([]*kgo.Record, string, error) {
	records := make([]*kgo.Record, len(j.lines))
	for i, line := range j.lines {
		records[i] = &kgo.Record{
			Topic: wordcount.Lines.Name, Partition: int32(i) % partitions, Value: []byte(line), Timestamp: time.UnixMilli(int64(i)),
		}
	}
	return records, j.data, nil
}

func (j *wordcountJob) show(r *kgo.Record) error {
	n, err := wordcount.Counts.Value.Decode(r.Value)
	if err != nil {
		return err
	}
	fmt.Fprintf(j.out, "%6d  %s\n", n, r.Key)
	j.counts[string(r.Key)] = n
	return nil
}

func (j *wordcountJob) conclude(w io.Writer, ended bool) error {
	words := slices.SortedFunc(maps.Keys(j.counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(j.counts[b], j.counts[a]), cmp.Compare(a, b))
	})
	fmt.Fprintln(w, "\nMost frequent words")
	for _, word := range words[:min(10, len(words))] {
		fmt.Fprintf(w, "%6d  %s\n", j.counts[word], word)
	}
	if !ended {
		return nil
	}
	want := map[string]int64{}
	for _, line := range j.lines {
		for word := range strings.FieldsSeq(line) {
			want[strings.ToLower(word)]++
		}
	}
	if !maps.Equal(want, j.counts) {
		return fmt.Errorf("the counts are wrong: there are %d different words, and %d were counted", len(want), len(j.counts))
	}
	fmt.Fprintf(w, "\n%d lines, %d different words: as counted without Weir\n", len(j.lines), len(want))
	return nil
}
