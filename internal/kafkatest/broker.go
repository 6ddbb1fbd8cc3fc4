package kafkatest

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed kafka/kafka.sh kafka/pom.xml
var scripts embed.FS

// scriptTimeout bounds one call of kafka.sh. A start takes seconds, but the first one ever also fetches the jars.
const scriptTimeout = 5 * time.Minute

// Broker is a real, single-node Kafka in a temporary directory of its own. Its methods may be called from several
// goroutines; those that change its state then take turns.
type Broker struct {
	home    string // holds kafka.sh, pom.xml, the lock file and the broker's own directory
	addr    string
	started []string // the arguments of the first start, for Restart

	lifeline  io.Closer // closing it makes the guard destroy the broker
	guard     *exec.Cmd
	closeOnce sync.Once
}

// Option configures a real broker.
type Option func(*options)

type options struct{ start []string }

// Set adds a setting of the broker, written "key=value" as in Kafka's server.properties.
func Set(setting string) Option {
	return func(o *options) { o.start = append(o.start, "--set", setting) }
}

// Heap sets the broker's heap, written as for Java's -Xmx. It is 512m unless set.
func Heap(size string) Option {
	return func(o *options) { o.start = append(o.start, "--heap", size) }
}

// Start starts a real broker that lives as long as the test, and skips the test where that is impossible (see [Skip]).
// Tests that neither hurt nor configure their broker are cheaper with [Shared].
func Start(t testing.TB, opts ...Option) *Broker {
	t.Helper()
	if why := Missing(); why != "" {
		Skip(t, "%s", why)
	}
	b, err := Launch(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the broker's log ends with:\n%s", b.logTail())
		}
		b.Close()
	})
	return b
}

var shared struct {
	sync.Mutex
	broker *Broker
	err    error
}

// Shared returns the broker that all tests of this process share, and starts it for the first of them. Tests must use
// topic, group and transaction names of their own, and must not stop, kill or pause it. It dies with the process.
func Shared(t testing.TB) *Broker {
	t.Helper()
	if why := Missing(); why != "" {
		Skip(t, "%s", why)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.broker == nil && shared.err == nil {
		shared.broker, shared.err = Launch()
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.broker
}

// Launch is Start for programs that are not tests. The caller closes the broker; should it die before that, however it
// dies, the broker is killed and its directory removed.
func Launch(opts ...Option) (*Broker, error) {
	o := options{start: []string{"--heap", "512m"}}
	for _, opt := range opts {
		opt(&o)
	}
	home, err := unpack()
	if err != nil {
		return nil, fmt.Errorf("kafkatest: unpack the broker's scripts: %w", err)
	}
	b := &Broker{home: home, started: o.start}
	if err := b.startGuard(); err != nil {
		os.RemoveAll(home)
		return nil, fmt.Errorf("kafkatest: start the broker's guard: %w", err)
	}
	if b.addr, err = b.locked("start", o.start...); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// unpack writes the scripts to a new temporary directory, so that they can be run from any package and module.
func unpack() (string, error) {
	home, err := os.MkdirTemp("", "weir-kafka-")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"kafka.sh", "pom.xml"} {
		text, err := scripts.ReadFile("kafka/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(home, name), text, 0o600)
		}
		if err != nil {
			os.RemoveAll(home)
			return "", err
		}
	}
	return home, nil
}

// Addr returns the broker's HOST:PORT, which stays the same over restarts.
func (b *Broker) Addr() string { return b.addr }

// Addrs returns Addr in the form that clients and this package's helpers take.
func (b *Broker) Addrs() []string { return []string{b.addr} }

// Stop shuts the broker down cleanly. Restart starts it again with its data.
func (b *Broker) Stop() error { return b.verb("stop") }

// Kill9 crashes the broker. Restart starts it again with its data.
func (b *Broker) Kill9() error { return b.verb("kill9") }

// Pause stops the broker's process: connections stay open and are not answered.
func (b *Broker) Pause() error { return b.verb("pause") }

// Resume lets a paused broker go on.
func (b *Broker) Resume() error { return b.verb("resume") }

// Restart starts the broker after Stop or Kill9, and stops it cleanly first if it runs. It returns when the broker
// takes connections.
func (b *Broker) Restart() error {
	if err := b.verb("stop"); err != nil {
		return err
	}
	// Settings are kept in the broker's directory, but adding one again does no harm: the last wins.
	_, err := b.locked("start", b.started...)
	return err
}

// Tool runs one of Kafka's command-line tools, named by its class ("TopicCommand", "GetOffsetShell", ...), and returns
// what it wrote to standard output. It does not add --bootstrap-server.
func (b *Broker) Tool(args ...string) (string, error) {
	return run("bash", append([]string{filepath.Join(b.home, "kafka.sh"), "tool"}, args...)...)
}

func (b *Broker) verb(verb string) error {
	_, err := b.locked(verb)
	return err
}

// locked runs a verb of kafka.sh under the lock that the guard takes too: should this process die in the middle of a
// start, the guard waits for its end and finds the broker it has to kill. flock -o keeps the lock out of the broker.
func (b *Broker) locked(verb string, args ...string) (string, error) {
	argv := append([]string{"-o", filepath.Join(b.home, "lock"),
		"bash", filepath.Join(b.home, "kafka.sh"), verb, "--dir", b.dir()}, args...)
	return run("flock", argv...)
}

func (b *Broker) dir() string { return filepath.Join(b.home, "broker") }

func run(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), scriptTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		err = errors.Join(err, ctx.Err())
		return "", fmt.Errorf("kafkatest: %s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}

func (b *Broker) logTail() string {
	text, err := os.ReadFile(filepath.Join(b.dir(), "broker.log"))
	if err != nil {
		return err.Error()
	}
	const size = 4 << 10
	return string(text[max(0, len(text)-size):])
}
