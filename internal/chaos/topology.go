package main

import (
	"time"

	"github.com/weirstream/weir/internal/verify"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/watermark"
	"github.com/weirstream/weir/window"
)

// The names of what is durable.
const (
	appName    = "chaos"
	partitions = 4
	workers    = 2 // of an instance

	inputName    = "chaos-input"
	totalsName   = "chaos-totals"
	finalsName   = "chaos-views-final"
	updatesName  = "chaos-views-updates"
	sessionsName = "chaos-sessions-final"
	lateName     = "chaos-late"

	totalsStore = "totals"
	viewsStore  = "views"
	visitsStore = "visits"
	byUser      = "by-user"
)

const (
	bound      = 5 * time.Second
	viewWindow = 10 * time.Second
	viewGrace  = 3 * time.Second
	visitGap   = time.Second
)

var (
	views  = window.Tumbling(viewWindow).Grace(viewGrace)
	visits = window.Gap(visitGap)

	windowedUser = serde.Windowed(serde.String)

	input    = stream.NewTopic(inputName, serde.String, serde.MsgPack[Event]())
	totals   = stream.NewTopic(totalsName, serde.String, serde.MsgPack[Total]())
	finals   = stream.NewTopic(finalsName, windowedUser, serde.Int64)
	updates  = stream.NewTopic(updatesName, windowedUser, serde.Int64)
	sessions = stream.NewTopic(sessionsName, windowedUser, serde.Int64)
	late     = stream.NewTopic(lateName, serde.String, serde.MsgPack[Event]())
)

// outputs are the topics that the topology writes for others.
var outputs = []string{totalsName, finalsName, updatesName, sessionsName, lateName}

// stores describes the stores as the audit sees them. All are of the second sub-topology.
var stores = []verify.Store{
	store(totalsStore, "key-value", "", describe[Total](), nil),
	store(viewsStore, "window", views.Grace(0).String(), describe[int64](), views.ClosesAt),
	store(visitsStore, "session", visits.Grace(0).String(), describe[int64](), visits.ClosesAt),
}

func store(name, kind, cut, value string, closes func(int64) int64) verify.Store {
	return verify.Store{
		Descriptor: state.Descriptor{Name: name, Kind: kind, Window: cut, Key: describe[string](), Value: value},
		Sub:        storesSub, Changelog: changelog(name), Closes: closes,
	}
}

// storesSub is the sub-topology that has the stores.
const storesSub = 1

func describe[T any]() string {
	s, err := serde.Default[T]()
	if err != nil {
		return err.Error()
	}
	return serde.Describe(s)
}

func changelog(store string) string { return appName + "-" + store + "-changelog" }

const repartitionName = appName + "-" + byUser + "-repartition"

// changelogs are the topics behind the stores.
func changelogs() []string {
	var names []string
	for _, s := range stores {
		names = append(names, s.Changelog)
	}
	return names
}

// topology is what runs under fire: through a repartition topic into a table, windows with finals and updates, and
// sessions. Sessions are spared the stragglers: whether one still meets its session may depend on the schedule.
func topology() *stream.Topology {
	top := stream.New(appName)
	users := top.Stream(input, stream.Watermarks(watermark.Bounded(bound))).SelectKey(Event.ByUser).Repartition(byUser)

	users.GroupByKey().Aggregate(totalsStore, func() Total { return Total{} }, Total.add).Updates().To(totals)

	perWindow := users.GroupByKey().Windowed(views)
	counts := perWindow.Count(viewsStore)
	counts.Final().SelectKeyRecord(stream.WindowKey).To(finals)
	counts.Updates().SelectKeyRecord(stream.WindowKey).To(updates)
	perWindow.Late().To(late)

	users.Filter(func(e Event) bool { return !e.Straggler }).GroupByKey().Sessions(visits).Count(visitsStore).
		Final().SelectKeyRecord(stream.WindowKey).To(sessions)
	return top
}
