// Package graph is the description of a topology: which operators there are and
// how they are connected, without their types. It knows how to cut the whole
// into sub-topologies and what is wrong with it.
package graph

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/watermark"
)

// A Graph is a topology under construction. It is not safe for concurrent use.
type Graph struct {
	Name  string
	Nodes []*Node

	errs      []error
	names     map[string]*Node
	byDefault *flow.Policy // of the last Build
}

// New returns an empty graph.
func New(name string) *Graph { return &Graph{Name: name, names: map[string]*Node{}} }

// A Kind is what a node does.
type Kind uint8

// The kinds.
const (
	Source            Kind = iota // reads a topic
	Stateless                     // map, filter, ...
	Stateful                      // owns a store
	Output                        // one of the streams that come out of a stateful operator: final results, updates, late records
	Sink                          // writes a topic
	RepartitionSink               // writes a repartition topic
	RepartitionSource             // reads it again
)

// A Node is one operator.
type Node struct {
	ID      int
	Kind    Kind
	Op      string // what it does, as "map" or "count"
	Name    string // the user's name, or one made of Op and ID
	Named   bool   // the user named it
	Where   string // file:line of the call that made it
	Parents []*Node

	Attr // of the stream that comes out

	Topic       string           // sources and sinks; without the app's prefix for repartition topics
	Partitions  int32            // repartition topics: 0 for as many as the sub-topology that writes it has
	Twin        *Node            // the other end of a repartition topic
	Partitioner flow.Partitioner // sources and sinks
	Store       *state.Descriptor
	Hold        int64 // how much further behind its input the watermark of its output is, ms
	FromUpdates bool  // an output that emits at commits what has changed
	Reader      *Reader
	Check       func(n *Node) error // called by Build; completes Store

	used bool
}

// Attr is what a stream inherits from operator to operator.
type Attr struct {
	Policy     *flow.Policy // of user functions and sinks; nil for the app's
	KeyChanged bool         // equal keys may be on different partitions
	WindowLost bool         // windowed results whose window no function has looked at
	Windowed   bool
}

// A Reader is how the records of a source are read.
type Reader struct {
	Strategy watermark.Strategy
	From     time.Time
	Open     func(t *flow.Task) (flow.Source, error)
}

// Add adds an operator below parents and returns it. A name given by the user
// must be his only one.
func (g *Graph) Add(kind Kind, op, name string, parents ...*Node) *Node {
	n := &Node{ID: len(g.Nodes), Kind: kind, Op: op, Name: name, Where: caller(), Parents: parents}
	if len(parents) > 0 {
		n.Attr = parents[0].Attr
	}
	for _, p := range parents {
		p.used = true
	}
	g.Nodes = append(g.Nodes, n)
	if name == "" {
		n.Name = fmt.Sprintf("%s-%d", op, n.ID)
		return n
	}
	n.Named = true
	g.claim(n)
	return n
}

// claim checks a user's name: of operators with a store and of repartition
// topics, which share one space since topics are made of them.
func (g *Graph) claim(n *Node) {
	if n.Kind == Source || n.Kind == Sink || n.Kind == RepartitionSource {
		return
	}
	if err := ValidName(n.Name); err != nil {
		g.Fail(n, err)
	}
	if other := g.names[n.Name]; other != nil {
		g.Fail(n, fmt.Errorf("the name %q is taken by the %s at %s", n.Name, other.Op, other.Where))
		return
	}
	g.names[n.Name] = n
}

// Use marks the stream that comes out of n as going somewhere.
func (n *Node) Use() { n.used = true }

// Fail notes a mistake in the description.
func (g *Graph) Fail(n *Node, err error) {
	g.errs = append(g.errs, fmt.Errorf("%s: %s %s: %w", n.Where, n.Op, n.Name, err))
}

// Errorf notes a mistake that is not one operator's, at the caller's place.
func (g *Graph) Errorf(format string, args ...any) {
	g.errs = append(g.errs, fmt.Errorf("%s: %w", caller(), fmt.Errorf(format, args...)))
}

// ValidName refuses what cannot be part of a topic's name.
func ValidName(name string) error {
	if name == "" {
		return errors.New("a name is needed: it names what is durable, such as topics and stores")
	}
	if len(name) > 100 {
		return fmt.Errorf("the name %q is longer than 100 bytes", name)
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return fmt.Errorf("the name %q holds %q; topics, and so names, are made of letters, digits, '.', '_' and '-'", name, r)
		}
	}
	return nil
}

// caller is where the user's code called into the DSL.
func caller() string {
	pcs := make([]uintptr, 24)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		inside := strings.Contains(f.Function, "weirstream/weir/stream.") || strings.Contains(f.Function, "weirstream/weir/internal/graph.")
		if !inside || strings.HasSuffix(f.File, "_test.go") {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return "unknown"
		}
	}
}
