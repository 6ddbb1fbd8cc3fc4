package faults

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/verify/oracle"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

// An event is a record of the input. Its key is the source partition's own: the
// user, by whom it is grouped, is in the value.
type event struct {
	User string
	N    int64
}

func (e event) byUser() string { return e.User }

// A chain is an aggregate that shows every loss, double and change of order: the
// number of values, and a hash over them in their order. Values of users that
// several partitions have in common come in no fixed order: they are counted.
type chain struct {
	N    int64
	Hash int64
}

func shared(user string) bool { return strings.HasPrefix(user, "all") }

func (c chain) add(e event) chain {
	c.N++
	if !shared(e.User) {
		h := fnv.New64a()
		fmt.Fprint(h, c.Hash, e.N)
		c.Hash = int64(h.Sum64())
	}
	return c
}

// merge joins the chains of two sessions.
func (c chain) merge(d chain) chain {
	c.N += d.N
	if c.Hash != 0 || d.Hash != 0 {
		h := fnv.New64a()
		fmt.Fprint(h, c.Hash, "+", d.Hash)
		c.Hash = int64(h.Sum64())
	}
	return c
}

func (c chain) String() string { return fmt.Sprintf("%d:%x", c.N, uint64(c.Hash)) }

// The times of the workload.
const (
	bound = 2 * time.Second
	size  = 10 * time.Second
	grace = time.Second
	gap   = 500 * time.Millisecond
)

var (
	views    = window.Tumbling(size).Grace(grace)
	visits   = window.Gap(gap).Grace(grace)
	partsIn  = int32(3)
	partsOut = int32(2)
	in       = stream.NewTopic("in", serde.String, serde.JSON[event]())
	outs     = []string{"echo", "chains", "views", "views-final", "visits", "visits-final"}
	asText   = func(name string) stream.Topic[string, string] {
		return stream.NewTopic(name, serde.String, serde.String)
	}
)

// job is the topology under test: a source that is passed on, and behind a
// repartition topic an aggregate, windows and sessions.
func job() *stream.Topology {
	top := stream.New("job")
	events := top.Stream(in, stream.Watermarks(watermark.Bounded(bound)))
	events.MapRecord(func(r stream.Record[string, event]) string { return strconv.FormatInt(r.Value.N, 10) }).To(asText("echo"))
	users := events.GroupBy("by-user", event.byUser)
	zero := func() chain { return chain{} }
	users.Aggregate("chains", zero, chain.add).Updates().Map(chain.String).To(asText("chains"))
	perWindow := users.Windowed(views).Aggregate("views", zero, chain.add)
	withWindow(perWindow.Updates()).To(asText("views"))
	withWindow(perWindow.Final()).To(asText("views-final"))
	perVisit := users.Sessions(visits).Aggregate("visits", zero, chain.add, chain.merge)
	withWindow(perVisit.Updates()).To(asText("visits"))
	withWindow(perVisit.Final()).To(asText("visits-final"))
	return top
}

func withWindow(s stream.Stream[string, chain]) stream.Stream[string, string] {
	return s.Map(chain.String).SelectKeyRecord(func(r stream.Record[string, string]) string {
		return oracle.Key(r.Key, r.Window.StartMs(), r.Window.EndMs())
	})
}

// closes says when the rows of job's stores are closed.
var closes = map[string]func(int64) int64{"views": views.ClosesAt, "visits": visits.ClosesAt}

// input makes n records: users of one partition and users of all, most of them
// within the bound, some of them far too late.
func input(rng *rand.Rand, n int) []oracle.Record[event] {
	clock := make([]int64, partsIn)
	for i := range clock {
		clock[i] = 1_700_000_000_000 + rng.Int64N(1000)
	}
	records := make([]oracle.Record[event], 0, n)
	for i := range n {
		p := rng.Int32N(partsIn)
		r := oracle.Record[event]{Partition: p, Value: event{fmt.Sprintf("p%d-%d", p, rng.IntN(8)), int64(i)}}
		r.Key = fmt.Sprintf("k%d-%d", p, rng.IntN(4))
		r.Time = clock[p] - rng.Int64N(bound.Milliseconds()+1)
		switch {
		case rng.IntN(5) == 0:
			r.Value.User = fmt.Sprintf("all-%d", rng.IntN(4))
		case i > n/2 && rng.IntN(20) == 0:
			r.Time -= (size + 4*bound).Milliseconds()
		}
		clock[p] = max(clock[p], r.Time) + rng.Int64N(300)
		records = append(records, r)
	}
	return records
}

// kafka is the input as it is produced.
func kafka(records []oracle.Record[event]) []*kgo.Record {
	list := make([]*kgo.Record, 0, len(records))
	for _, r := range records {
		value, err := in.Value.Append(nil, r.Value)
		if err != nil {
			panic(err)
		}
		list = append(list, &kgo.Record{
			Topic: in.Name, Partition: r.Partition, Key: []byte(r.Key), Value: value, Timestamp: time.UnixMilli(r.Time),
		})
	}
	return list
}

var ofChains = oracle.Fold[event, chain]{
	Add:   func(c chain, e event, _ bool) chain { return c.add(e) },
	Merge: chain.merge,
	Text:  chain.String,
}

// expected is what must have become of the input, by output topic. Of updates
// it is the history.
func expected(records []oracle.Record[event]) (map[string]oracle.History, error) {
	oracle.Carry(records, bound.Milliseconds())
	want := map[string]oracle.History{}
	want["echo"] = oracle.Lists(records, func(e event) string { return strconv.FormatInt(e.N, 10) })
	users := make([]oracle.Record[event], len(records))
	for i, r := range records {
		users[i] = r
		users[i].Key = r.Value.User
	}
	want["chains"] = oracle.Running(users, ofChains)
	var late, lateVisits int
	want["views"], late = oracle.Tumbling(users, size.Milliseconds(), grace.Milliseconds(), ofChains)
	want["views-final"] = want["views"].Last()
	var err error
	want["visits"], lateVisits, err = oracle.Sessions(users, gap.Milliseconds(), grace.Milliseconds(), ofChains)
	want["visits-final"] = want["visits"].Last()
	if late == 0 || lateVisits == 0 || len(want["visits"]) < len(want["visits-final"])*5/4 {
		return nil, fmt.Errorf("the input is too tame: %d and %d late records, %d windows of %d sessions", late, lateVisits,
			len(want["visits"]), len(want["visits-final"]))
	}
	return want, err
}

// chains is what job's stores encode their values with.
var chains, _ = serde.Default[chain]()
