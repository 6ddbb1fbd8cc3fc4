// Command wordcount runs the word count against Kafka.
package main

import (
	"github.com/weirstream/weir/examples/wordcount"
	"github.com/weirstream/weir/stream"
)

func main() { stream.Main(wordcount.Topology) }
