package streamtest

import (
	"time"

	"github.com/weirstream/weir/internal/flow"
)

// An Option configures a Driver.
type Option func(*options)

type options struct {
	partitions  int32
	partitionOf map[string]int32
	missing     map[string]bool
	maxBytes    int32
	workers     int
	commitEvery int
	crashEvery  int
	cache       int64 // bytes; -1: no limit
	clock       time.Time
	seed        uint64
	closeStep   int  // results per step of a closing; 0: the engine's
	between     bool // commit between the steps of a closing
	wipe        bool // crashes lose the state directory
}

func defaults() options {
	return options{
		partitions: 1, partitionOf: map[string]int32{}, missing: map[string]bool{}, workers: 1, commitEvery: 1, cache: -1,
		clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), seed: 1,
	}
}

// Partitions gives the topics called so n partitions, or all topics if none is
// named, and so every sub-topology as many tasks. It is 1 unless said.
func Partitions(n int, topics ...string) Option {
	return func(o *options) {
		if len(topics) == 0 {
			o.partitions = int32(n)
		}
		for _, t := range topics {
			o.partitionOf[t] = int32(n)
		}
	}
}

// Workers spreads the tasks over n workers, each with transactions of its own,
// as several instances of the app would. It is 1 unless said.
func Workers(n int) Option { return func(o *options) { o.workers = n } }

// CommitEvery lets n steps pass between commits, instead of one: a step is a
// call of Send, SendRecord, SendBytes, Advance or Sleep. The latter two commit
// always, as does whatever looks at results. What is not committed is done again
// after a Crash.
func CommitEvery(n int) Option { return func(o *options) { o.commitEvery = n } }

// CrashEvery crashes after every n steps, and so in the middle of what Crash
// would otherwise be called between.
func CrashEvery(n int) Option { return func(o *options) { o.crashEvery = n } }

// Cache limits the state that tasks keep in memory to so many bytes after each
// commit; the rest is read from the state directory again. There is no limit
// unless said.
func Cache(bytes int64) Option { return func(o *options) { o.cache = bytes } }

// Clock starts the engine's clock at at, instead of at the beginning of 2026. It
// moves by Sleep, and when an operator waits before it tries again.
func Clock(at time.Time) Option { return func(o *options) { o.clock = at } }

// Missing lets the topic called so not exist. All others are made when they are
// first used.
func Missing(topic string) Option { return func(o *options) { o.missing[topic] = true } }

// MaxMessageBytes is what each topic takes of one record, as
// max.message.bytes. There is no limit unless said.
func MaxMessageBytes(n int) Option { return func(o *options) { o.maxBytes = int32(n) } }

// Seed chooses what the driver leaves to chance: when rows reach the state
// directory, and what of it a crash loses. It is 1 unless said; the results must
// be the same for all.
func Seed(seed uint64) Option { return func(o *options) { o.seed = seed } }

func (o *options) topic(name string) *flow.Topic {
	n := o.partitions
	if p, ok := o.partitionOf[name]; ok {
		n = p
	}
	return &flow.Topic{Name: name, Partitions: n, MaxBytes: o.maxBytes}
}
