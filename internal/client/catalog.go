package client

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/internal/flow"
)

// A Catalog is what is known of topics: it is filled at the start and asks the
// brokers for what it lacks. It is safe for concurrent use.
type Catalog struct {
	admin *kadm.Client

	mu     sync.Mutex
	topics map[string]*flow.Topic
	ids    map[string]kadm.TopicID
	names  map[kadm.TopicID]string
}

// NewCatalog returns an empty catalog.
func NewCatalog(admin *kadm.Client) *Catalog {
	return &Catalog{admin: admin, topics: map[string]*flow.Topic{}, ids: map[string]kadm.TopicID{}, names: map[kadm.TopicID]string{}}
}

// Load asks the brokers for topics. Those that do not exist are left out.
func (c *Catalog) Load(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	details, err := c.admin.ListTopics(ctx, names...)
	if err != nil {
		return fmt.Errorf("cannot list topics: %w", err)
	}
	var exist []string
	for _, d := range details.Sorted() {
		if d.Err == nil {
			exist = append(exist, d.Topic)
		}
	}
	if len(exist) == 0 {
		return nil
	}
	configs, err := c.admin.DescribeTopicConfigs(ctx, exist...)
	if err != nil {
		return fmt.Errorf("cannot read the configuration of topics: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range exist {
		d := details[name]
		t := &flow.Topic{Name: name, Partitions: int32(len(d.Partitions))}
		if r, err := configs.On(name, nil); err == nil {
			for _, kv := range r.Configs {
				if n, err := strconv.Atoi(kv.MaybeValue()); kv.Key == "max.message.bytes" && err == nil {
					t.MaxBytes = int32(n)
				}
			}
		}
		c.topics[name], c.ids[name], c.names[d.ID] = t, d.ID, name
	}
	return nil
}

// Topic returns a topic, or an error that says that it does not exist.
func (c *Catalog) Topic(name string) (*flow.Topic, error) {
	if t := c.Known(name); t != nil {
		return t, nil
	}
	if err := c.Load(context.Background(), name); err != nil {
		return nil, err
	}
	if t := c.Known(name); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("topic %s does not exist: create it, Weir creates only its own internal topics", name)
}

// Known returns a topic that has been asked for, nil if it is not known to exist.
func (c *Catalog) Known(name string) *flow.Topic {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.topics[name]
}

// ID returns the id of a topic that is known.
func (c *Catalog) ID(name string) kadm.TopicID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[name]
}

// Name returns a topic's name: older responses have it, newer ones the id.
func (c *Catalog) Name(name string, id kadm.TopicID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == "" {
		name = c.names[id]
	}
	return name
}

// MaxBytes is how many bytes a batch of a topic may have, as far as is known.
func (c *Catalog) MaxBytes(topic string) int32 {
	const byDefault, least, most = 1_000_012, 512, 1 << 30 // what the client allows
	if t := c.Known(topic); t != nil && t.MaxBytes > 0 {
		return min(max(t.MaxBytes, least), most)
	}
	return byDefault
}
