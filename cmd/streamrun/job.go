package main

import (
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/stream"
)

// A job is an example that dev can run. show is called from one goroutine, and
// conclude when that is over or waits.
type job interface {
	name() string // of the app
	describe() string
	topology() *stream.Topology
	topics() []string // that a user must create: the source first, then those of results

	// records are the source's, spread over so many partitions; data names them.
	records(partitions int32) (records []*kgo.Record, data string, err error)

	// show takes one committed record of a topic of results.
	show(r *kgo.Record) error

	// conclude sums up what was shown. ended says that all windows are closed, and
	// so the results complete: those that are wrong are an error.
	conclude(w io.Writer, ended bool) error
}

func newJob(name string, o *options, out io.Writer) (job, error) {
	switch name {
	case "flights":
		return newFlightsJob(o, out)
	case "wordcount":
		return newWordcountJob(o, out)
	}
	return nil, fmt.Errorf("there is no job %q", name)
}
