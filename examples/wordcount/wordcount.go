// Package wordcount is the smallest example: it counts the words of a stream of
// lines.
package wordcount

import (
	_ "embed"
	"strings"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// What the job reads and writes.
var (
	Lines  = stream.NewTopic("lines", serde.String, serde.String)
	Counts = stream.NewTopic("counts", serde.String, serde.Int64)
)

// Speech is something to count the words of: Lincoln's at Gettysburg.
//
//go:embed speech.txt
var Speech string

// Topology describes the job.
func Topology() *stream.Topology {
	top := stream.New("wordcount")

	top.Stream(Lines).
		FlatMap(strings.FieldsSeq).
		Map(strings.ToLower).
		GroupBy("by-word", stream.Identity).
		Count("word-counts").
		Updates().
		To(Counts)

	return top
}
