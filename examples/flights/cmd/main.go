// Command flights runs the flights job against Kafka. Its topics must exist;
// "streamrun dev flights" creates and fills them.
package main

import (
	"github.com/weirstream/weir/examples/flights"
	"github.com/weirstream/weir/stream"
)

func main() { stream.Main(flights.Default.Topology) }
