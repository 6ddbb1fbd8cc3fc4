package stream

import (
	"time"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/serde"
)

// A Topic names a sequence of records and says how their keys and values are
// encoded. Reading or writing it with other types does not compile. A Topic is
// a value; its methods return changed copies.
type Topic[K, V any] struct {
	Name        string
	Key         serde.Serde[K]
	Value       serde.Serde[V]
	Partitioner Partitioner // how all its writers place keys; Murmur2 unless set

	time func(V) time.Time
}

// NewTopic returns the topic called name. It must exist when a topology that
// reads or writes it runs.
func NewTopic[K, V any](name string, key serde.Serde[K], value serde.Serde[V]) Topic[K, V] {
	return Topic[K, V]{Name: name, Key: key, Value: value}
}

// Timestamps takes event time from the value instead of the Kafka record. A
// zero time is an error of the record, to which the source's policy applies. A
// tombstone has no value, and keeps the Kafka record's time.
func (t Topic[K, V]) Timestamps(f func(V) time.Time) Topic[K, V] { t.time = f; return t }

// A Partitioner places keys on partitions. Topics that meet in one task must
// agree in theirs.
type Partitioner int

// The partitioners.
const (
	Murmur2 Partitioner = iota // Java clients and franz-go
	CRC32                      // librdkafka and the clients built on it
)

func (p Partitioner) flow() flow.Partitioner { return flow.Partitioner(p) }

// A TopicOption configures a repartition topic.
type TopicOption func(*topicSettings)

type topicSettings struct{ partitions int }

// Partitions gives the topic n partitions instead of as many as what writes it
// reads.
func Partitions(n int) TopicOption { return func(s *topicSettings) { s.partitions = n } }
