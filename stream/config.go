package stream

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/seam"
)

// A Config says where and how a topology runs. Fields may be added.
type Config struct {
	Brokers        []string              // host:port
	Client         []kgo.Opt             // TLS, SASL, ...; Build refuses those Weir sets itself
	ID             string                // instead of the topology's name, where two run on one cluster
	Instance       string                // stable and unique, as a pod's name; made up and kept in StateDir unless set
	StateDir       string                // this instance's state, locked while it runs; needed if there is any
	Guarantee      Guarantee             // ExactlyOnce unless set
	CommitInterval time.Duration         // 100 ms unless set
	Workers        int                   // GOMAXPROCS unless set
	MemoryLimit    int64                 // bytes, over caches, stores and fetch buffers; 512 MiB unless set
	Replication    int                   // of internal topics; the brokers' default unless set
	OnError        ErrorPolicy           // Fail unless set
	Logger         *slog.Logger          // slog.Default unless set
	Metrics        prometheus.Registerer // none unless set; several apps may share one

	SessionTimeout     time.Duration // of the consumer group; 10 s unless set
	TransactionTimeout time.Duration // 30 s unless set
	CheckpointAge      time.Duration // how old a committed change may be that a crash makes replay; 10 s unless set
	FetchMaxBytes      int32         // of one fetch and partition, bytes; 1 MiB unless set
	StateRetention     time.Duration // how long the state of a task that moved away is kept; 1 h unless set

	replaced seam.Replacements // by tests
}

// A Guarantee is what happens to a record's effects when something fails.
type Guarantee int

// The guarantees.
const (
	// ExactlyOnce commits outputs, state and offsets in one transaction.
	ExactlyOnce Guarantee = iota
	// AtLeastOnce may process records again, and apply them again, after a
	// failure. A process that was paused for long may overwrite newer changes of
	// the task's next owner.
	AtLeastOnce
)

// String is the guarantee as configurations spell it.
func (g Guarantee) String() string {
	if g == AtLeastOnce {
		return "at_least_once"
	}
	return "exactly_once"
}
