package faults

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/seam"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A network is an instance's way to the brokers. It can be cut for good, as when
// the process dies, or held up, as when it is paused.
type network struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
	cut   bool
	down  bool
	held  chan struct{} // closed when it goes on; nil unless held up
}

// errCut is for processes that are dead: clients do not try again.
var errCut = errors.New("the process was killed")

// errDown is what a dead network answers, as the operating system says it.
var errDown = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

func (n *network) dial(ctx context.Context, kind, addr string) (net.Conn, error) {
	if err := n.pass(ctx.Done(), nil); err != nil {
		return nil, err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, kind, addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut || n.down {
		return nil, errors.Join(errCut, c.Close())
	}
	if n.conns == nil {
		n.conns = map[net.Conn]bool{}
	}
	n.conns[c] = true
	return &conn{Conn: c, n: n, closed: make(chan struct{})}, nil
}

// pass waits while the network is held up, until the deadline.
func (n *network) pass(done <-chan struct{}, deadline *atomic.Int64) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		n.mu.Lock()
		held, cut, down := n.held, n.cut, n.down
		n.mu.Unlock()
		switch {
		case cut:
			return errCut
		case down:
			return errDown
		case held == nil:
			return nil
		case deadline != nil && deadline.Load() != 0 && time.Now().UnixNano() > deadline.Load():
			return os.ErrDeadlineExceeded
		}
		select {
		case <-held:
		case <-tick.C:
		case <-done:
			return net.ErrClosed
		}
	}
}

// Cut ends all connections, and there will be no others.
func (n *network) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = true
	for c := range n.conns {
		c.Close()
	}
	if n.held != nil {
		close(n.held)
		n.held = nil
	}
}

// Break ends all connections, and refuses others until Mend.
func (n *network) Break() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = true
	for c := range n.conns {
		c.Close()
	}
}

// Mend undoes Break.
func (n *network) Mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
}

// Hold lets nothing through, either way, until the function that it returns is
// called.
func (n *network) Hold() (release func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held := make(chan struct{})
	n.held = held
	return sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.held == held {
			close(held)
			n.held = nil
		}
	})
}

type conn struct {
	net.Conn
	n           *network
	once        sync.Once
	closed      chan struct{}
	read, write atomic.Int64 // deadlines, ns since the epoch
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if perr := c.n.pass(c.closed, &c.read); perr != nil {
		return 0, perr
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	if err := c.n.pass(c.closed, &c.write); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.read.Store(nanos(t))
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.write.Store(nanos(t))
	return c.Conn.SetWriteDeadline(t)
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.n.mu.Lock()
		defer c.n.mu.Unlock()
		delete(c.n.conns, c.Conn)
	})
	return c.Conn.Close()
}

// An instance is one life of an application's process. What survives it is its
// file system, and what it wrote to Kafka.
type instance struct {
	t    *testing.T
	cfg  stream.Config
	top  func() *stream.Topology
	fs   *vfs.MemFS
	net  *network
	hook checkpoint.Hook

	purgeEvery time.Duration

	app    *stream.App
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // of Run, once ended
	killed bool
}

// start starts an instance. Config has the defaults of tests where it is not
// set.
func start(t *testing.T, i *instance, run func(*stream.App, context.Context) error) *instance {
	t.Helper()
	i.t = t
	if i.top == nil {
		i.top = job
	}
	if i.fs == nil {
		i.fs = vfs.NewCrashableMem()
	}
	if i.net == nil {
		i.net = &network{}
	}
	c := &i.cfg
	if c.StateDir == "" {
		c.StateDir = "state"
	}
	if c.Workers == 0 {
		c.Workers = 1
	}
	if c.CommitInterval == 0 {
		c.CommitInterval = 10 * time.Millisecond
	}
	if c.CheckpointAge == 0 {
		c.CheckpointAge = 20 * time.Millisecond
	}
	if c.MemoryLimit == 0 {
		c.MemoryLimit = 32 << 20
	}
	if c.Logger == nil {
		c.Logger = logger(t)
	}
	seam.Override(c, seam.Replacements{FS: i.fs, Hook: i.hook, Client: []kgo.Opt{kgo.Dialer(i.net.dial)}, PurgeEvery: i.purgeEvery})
	var err error
	i.app, err = i.top().Build(*c)
	require.NoError(t, err)
	var ctx context.Context
	ctx, i.cancel = context.WithCancel(context.Background())
	i.ended = make(chan struct{})
	go func() {
		defer close(i.ended)
		i.err = run(i.app, ctx)
	}()
	t.Cleanup(func() {
		i.cancel()
		i.net.Cut()
		if !i.killed { // a stop waits for long, without brokers
			<-i.ended
		}
	})
	return i
}

// wait returns how the instance ended.
func (i *instance) wait() error {
	i.t.Helper()
	select {
	case <-i.ended:
		return i.err
	case <-time.After(patience):
		var stacks strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err == nil {
			i.t.Log(stacks.String())
		}
		i.t.Fatalf("the app has not ended within %v; ready: %v", patience, i.app.Ready())
		return nil
	}
}

// stop stops the instance and returns how it ended.
func (i *instance) stop() error {
	i.t.Helper()
	i.cancel()
	return i.wait()
}

// kill ends the instance as if its process had died now, and returns what is
// left of its disk: of what was not synced, some. What it still does can reach
// nobody.
func (i *instance) kill(unsynced int, seed int64) *vfs.MemFS {
	left := crashed(i.fs, unsynced, seed)
	i.net.Cut()
	i.killed = true
	i.cancel()
	return left
}

// ready returns nil once the instance runs all its tasks.
func (i *instance) ready() error {
	select {
	case <-i.ended:
		i.t.Fatalf("the app has ended: %v", i.err)
	default:
	}
	return i.app.Ready()
}

// patience is how long a test waits for what must happen.
const patience = 40 * time.Second

// crashed is what is left on disk when a process dies that has had this file
// system: of what was not synced, some.
func crashed(fs *vfs.MemFS, unsynced int, seed int64) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rand.New(rand.NewPCG(uint64(seed), 0))})
}

// logger writes to the log of a test, which is shown if it fails.
func logger(t *testing.T) *slog.Logger {
	w := &writer{t: t}
	t.Cleanup(w.end)
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// A writer writes to a test's log for as long as the test runs.
type writer struct {
	mu sync.Mutex
	t  *testing.T // nil once it has ended
}

func (w *writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Logf("%s", b)
	}
	return len(b), nil
}

func (w *writer) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}

// audited opens the state that an instance has left and hands it to f.
func audited(t *testing.T, fs *vfs.MemFS, f func(*state.DB)) {
	t.Helper()
	copied := crashed(fs, 100, 0)
	db, err := state.Open(state.Options{Dir: "state", FS: copied, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(t, err)
	f(db)
	require.NoError(t, db.Close())
}
