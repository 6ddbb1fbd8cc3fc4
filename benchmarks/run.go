package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A work is one thing to measure.
type work struct {
	system   string // weir, kstreams or franz-go
	workload string
	data     dataset
}

func (w work) String() string { return fmt.Sprintf("%s %s %s", w.system, w.workload, w.data.Topic) }

// A bench is what all runs share.
type bench struct {
	settings
	addr    string
	dir     string // temporary
	client  *kgo.Client
	adm     *kadm.Client
	hot     dataset // 10 thousand keys
	wide    dataset // a million
	jvm     *jvm
	runs    int
	results []result
}

// newBench builds what is to be built and loads what is to be read.
func newBench(ctx context.Context, addr string, s settings) (b *bench, err error) {
	now := time.Now().UnixMilli()
	base := now - int64(s.records)*1000/eventRate
	base -= base % windowMs
	b = &bench{
		settings: s, addr: addr,
		hot:  dataset{Topic: "in10k", N: s.records, Keys: 10_000, Base: base},
		wide: dataset{Topic: "in1m", N: s.records, Keys: 1_000_000, Base: base},
	}
	if b.dir, err = os.MkdirTemp("", "weir-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.client, err = kgo.NewClient(kgo.SeedBrokers(addr), kgo.MetadataMinAge(100*time.Millisecond)); err != nil {
		return b, err
	}
	b.adm = kadm.NewClient(b.client)
	if b.wants("kstreams") {
		if b.jvm, err = buildKStreams(ctx, filepath.Join(b.dir, "kstreams")); err != nil {
			return b, err
		}
	}
	loaded := map[string]bool{}
	for _, w := range b.plan() {
		if !loaded[w.data.Topic] {
			loaded[w.data.Topic] = true
			if err = w.data.load(ctx, addr); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

func (b *bench) wants(system string) bool {
	return slices.Contains(strings.Split(b.systems, ","), system)
}

// plan lists what one repetition does, the systems in turn.
func (b *bench) plan() (ws []work) {
	only := strings.Split(b.only, ",")
	add := func(workload string, d dataset, systems ...string) {
		for _, s := range systems {
			if b.wants(s) && slices.Contains(only, strings.TrimPrefix(workload, "raw-")[:1]) {
				ws = append(ws, work{system: s, workload: workload, data: d})
			}
		}
	}
	add("a", b.hot, "weir", "kstreams")
	if slices.Contains(only, "a") && b.wants("franz-go") {
		ws = append(ws, work{system: "franz-go", workload: "raw-tx", data: b.hot}, work{system: "franz-go", workload: "raw-consume", data: b.hot})
	}
	add("b", b.hot, "weir", "kstreams")
	add("b", b.wide, "weir", "kstreams")
	add("c", b.hot, "weir", "kstreams")
	return ws
}

func (b *bench) close() {
	if b.client != nil {
		b.client.Close()
	}
	os.RemoveAll(b.dir)
}

// run does one run. What went wrong is told on standard error, and in the result.
func (b *bench) run(ctx context.Context, w work) result {
	b.runs++
	r := result{
		Sys: w.system, WL: w.workload, In: w.data.Topic, PG: "eos", Threads: 1, CommitMs: commitInterval.Milliseconds(), N: w.data.N,
	}
	if w.workload == "raw-consume" {
		r.PG = "none"
	}
	m, err := b.attempt(ctx, w, childArgs{
		workload: w.workload, brokers: b.addr, in: w.data.Topic, id: fmt.Sprintf("bench-%d", b.runs), out: fmt.Sprintf("bench-%d-out", b.runs),
		dir: filepath.Join(b.dir, "state"), profile: b.profileOf(w),
	})
	r.fill(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v FAILED: %v\n", w, err)
	}
	r.OK = err == nil
	return r
}

func (b *bench) profileOf(w work) string {
	if b.profile == "" || w.system != "weir" {
		return ""
	}
	return filepath.Join(b.profile, fmt.Sprintf("%s-%s-%d.pprof", w.workload, w.data.Topic, b.runs))
}

// attempt runs a child, measures it, checks what it wrote, and removes its traces.
func (b *bench) attempt(ctx context.Context, w work, args childArgs) (m measured, err error) {
	if err := createTopic(ctx, b.adm, args.out); err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, b.clean(args)) }()
	c, err := b.start(w, args)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	meter := &meter{
		adm: b.adm, pid: c.cmd.Process.Pid, group: args.id, topic: w.data.Topic, input: w.data.Topic, total: int64(w.data.N), exited: c.exited,
	}
	if w.workload == "c" {
		meter.topic = args.id + "-by-user-repartition"
	}
	if m, err = meter.measure(ctx); err != nil {
		return m, err
	}
	return m, b.verify(ctx, w, args.out)
}

// clean deletes the topics, the group and the state of a run: the next one must not share its disk with them.
func (b *bench) clean(args childArgs) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	topics, err := b.adm.ListTopics(ctx)
	if err != nil {
		return err
	}
	var mine []string
	for _, t := range topics.Names() {
		if strings.HasPrefix(t, args.id+"-") {
			mine = append(mine, t)
		}
	}
	if _, err := b.adm.DeleteTopics(ctx, mine...); err != nil {
		return err
	}
	_, _ = b.adm.DeleteGroups(ctx, args.id) // it may have members yet
	return os.RemoveAll(args.dir)
}

// A child is a process that is measured.
type child struct {
	cmd    *exec.Cmd
	log    bytes.Buffer
	exited chan struct{}
	err    error
}

// start starts the process of a run.
func (b *bench) start(w work, args childArgs) (*child, error) {
	c := &child{exited: make(chan struct{})}
	if w.system == "kstreams" {
		c.cmd = b.jvm.command(w, args)
	} else {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		c.cmd = exec.Command(self, append([]string{w.system}, args.args()...)...)
	}
	c.cmd.Stdout, c.cmd.Stderr = &c.log, &c.log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %v: %w", w, err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

// stop ends the process, and says if it did not end well.
func (c *child) stop() error {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-c.exited:
	case <-time.After(time.Minute):
		_ = c.cmd.Process.Kill()
		<-c.exited
		return fmt.Errorf("the process did not stop; it said:\n%s", c.tail())
	}
	if c.err != nil && !wasTerminated(c.cmd.ProcessState) {
		return fmt.Errorf("the process ended with %w; it said:\n%s", c.err, c.tail())
	}
	return nil
}

func (c *child) tail() []byte {
	const most = 4000
	text := c.log.Bytes()
	return text[max(0, len(text)-most):]
}

// wasTerminated reports whether a process ended as a JVM ends that was told to.
func wasTerminated(s *os.ProcessState) bool {
	const terminated = 128 + int(syscall.SIGTERM)
	return s.ExitCode() == terminated
}
