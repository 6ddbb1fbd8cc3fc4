// Package metrics is what Weir tells Prometheus. Names, help and labels of all
// metrics are in this file.
package metrics

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirstream/weir/internal/flow"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/watermark"
)

// App holds the metrics of one app. Several may share a registry: they differ
// in the label app.
type App struct {
	In        *prometheus.CounterVec
	Out       prometheus.Counter
	Dropped   *prometheus.CounterVec
	Lag       *prometheus.GaugeVec
	Watermark *prometheus.GaugeVec
	Input     *prometheus.GaugeVec
	Commits   prometheus.Counter
	Latency   prometheus.Histogram
	Aborts    prometheus.Counter
	Rebuilds  prometheus.Counter
	Tasks     *prometheus.GaugeVec
	Cache     *prometheus.GaugeVec
	Unwritten *prometheus.GaugeVec

	registered []prometheus.Collector
	registry   prometheus.Registerer
}

// New makes the metrics of an app and registers them, if there is a registry.
func New(reg prometheus.Registerer, app, instance string) (*App, error) {
	labels := prometheus.Labels{"app": app, "instance_id": instance}
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "weir", Name: name, Help: help, ConstLabels: labels}
	}
	gauge := func(name, help string, by ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts(opts(name, help)), by)
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts(opts(name, help)))
	}
	a := &App{
		In: prometheus.NewCounterVec(prometheus.CounterOpts(opts("records_in_total",
			"Offsets processed and committed, by topic: records, and the markers of transactions.")), []string{"topic"}),
		Out: counter("records_out_total", "Records written and committed: outputs, changelogs, repartition topics and control records."),
		Dropped: prometheus.NewCounterVec(prometheus.CounterOpts(opts("records_dropped_total",
			"Records that went no further, by operator and reason. A late record counts once for each window that it missed.")),
			[]string{"operator", "reason"}),
		Lag: gauge("lag_records", "Offsets between what is processed and the end of the partition, as last fetched.",
			"topic", "partition"),
		Watermark: gauge("task_watermark_seconds", "The task's watermark, in event time.", "task"),
		Input: gauge("input_watermark_seconds", "The watermark of an input partition of a task: the lowest that is not idle holds the task's.",
			"task", "topic"),
		Commits: counter("commits_total", "Intervals committed."),
		Latency: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "weir", Name: "commit_seconds",
			Help: "How long commits took, from the barrier to the end of the transaction.", ConstLabels: labels,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
		Aborts:    counter("aborts_total", "Intervals that were dropped because they could not be committed, or may not have been."),
		Rebuilds:  counter("client_rebuilds_total", "Times that a worker had to start again with a new Kafka client."),
		Tasks:     gauge("tasks", "Tasks by state: assigned, or running, which means restored and processing.", "worker", "state"),
		Cache:     gauge("cache_bytes", "Memory that the caches of a worker's stores take.", "worker"),
		Unwritten: gauge("unwritten_rows", "Committed rows that Pebble does not hold yet: what a crash makes replay.", "worker"),
		registry:  reg,
	}
	if reg == nil {
		return a, nil
	}
	for _, c := range []prometheus.Collector{
		a.In, a.Out, a.Dropped, a.Lag, a.Watermark, a.Input, a.Commits, a.Latency, a.Aborts, a.Rebuilds, a.Tasks, a.Cache, a.Unwritten,
	} {
		if err := reg.Register(c); err != nil {
			a.Close()
			return nil, errors.Join(errors.New("metrics: another app of that name and instance has registered"), err)
		}
		a.registered = append(a.registered, c)
	}
	return a, nil
}

// Func registers a gauge that f computes at each scrape.
func (a *App) Func(name, help string, app, instance string, f func() float64) {
	if a.registry == nil {
		return
	}
	g := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "weir", Name: name, Help: help, ConstLabels: prometheus.Labels{"app": app, "instance_id": instance},
	}, f)
	if a.registry.Register(g) == nil {
		a.registered = append(a.registered, g)
	}
}

// Close takes the metrics out of the registry.
func (a *App) Close() {
	for _, c := range a.registered {
		a.registry.Unregister(c)
	}
	a.registered = nil
}

// A Worker counts for one worker. It is used by the worker's goroutine.
type Worker struct {
	*App
	name  string
	names []string // of operators, by node

	at    map[place]int64 // committed position
	last  time.Time
	mu    sync.Mutex
	drops map[flow.DropKey]int64
}

type place struct {
	topic     string
	partition int32
}

// Worker returns the metrics of the worker of that name.
func (a *App) Worker(name string, operators []string) *Worker {
	return &Worker{App: a, name: name, names: operators, at: map[place]int64{}, drops: map[flow.DropKey]int64{}}
}

// Committed counts a commit.
func (w *Worker) Committed(took time.Duration) {
	w.Commits.Inc()
	w.Latency.Observe(took.Seconds())
}

// Started notes where a task begins, so that only what it does is counted.
func (w *Worker) Started(t *task.Task) {
	for _, in := range t.InputList() {
		w.at[place{in.Topic, in.Partition}] = in.Position()
	}
}

// Count counts what a task did in an interval that is committed now.
func (w *Worker) Count(t *task.Task) {
	for _, in := range t.InputList() {
		p := place{in.Topic, in.Partition}
		if n := in.Position() - w.at[p]; n > 0 {
			w.In.WithLabelValues(in.Topic).Add(float64(n))
			w.at[p] = in.Position()
		}
	}
	drops := t.TakeDrops()
	if len(drops) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, n := range drops {
		w.drops[k] += n
		w.Dropped.WithLabelValues(w.names[k.Node], k.Reason.String()).Add(float64(n))
	}
}

// Drops returns the committed drops of the worker so far. It may be called from
// any goroutine.
func (w *Worker) Drops() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]int64{}
	for k, n := range w.drops {
		out[w.names[k.Node]+"/"+k.Reason.String()] += n
	}
	return out
}

// observeEvery is how often gauges are set: they are for people.
const observeEvery = 500 * time.Millisecond

// Observe sets the gauges of the worker's tasks.
func (w *Worker) Observe(tasks []*task.Task, assigned int) {
	if now := time.Now(); now.Sub(w.last) < observeEvery {
		return
	} else {
		w.last = now
	}
	w.Tasks.WithLabelValues(w.name, "assigned").Set(float64(assigned))
	w.Tasks.WithLabelValues(w.name, "running").Set(float64(len(tasks)))
	var cache int64
	var unwritten int
	for _, t := range tasks {
		cache += t.Bytes()
		unwritten += t.Unwritten()
		setTime(w.Watermark.WithLabelValues(t.ID.String()), t.Watermark())
		for _, in := range t.InputList() {
			setTime(w.Input.WithLabelValues(t.ID.String(), in.Topic), in.Watermark())
			w.Lag.WithLabelValues(in.Topic, strconv.Itoa(int(in.Partition))).Set(float64(max(in.End()-in.Position(), 0)))
		}
	}
	w.Cache.WithLabelValues(w.name).Set(float64(cache))
	w.Unwritten.WithLabelValues(w.name).Set(float64(unwritten))
}

// Dropped takes the gauges of a task away that this worker does not run any
// more.
func (w *Worker) Stopped(t *task.Task) {
	w.Watermark.DeleteLabelValues(t.ID.String())
	for _, in := range t.InputList() {
		w.Input.DeleteLabelValues(t.ID.String(), in.Topic)
		w.Lag.DeleteLabelValues(in.Topic, strconv.Itoa(int(in.Partition)))
	}
}

func setTime(g prometheus.Gauge, ms int64) {
	if ms != watermark.None && ms != watermark.Infinite {
		g.Set(float64(ms) / 1000)
	}
}
