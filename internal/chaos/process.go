package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A process is one life of an instance. Its methods may be called from several goroutines.
type process struct {
	name    string // instance and life
	began   time.Time
	cmd     *exec.Cmd
	stdin   io.Closer
	logPath string
	exited  chan struct{}
	ledger  *ledger

	mu       sync.Mutex
	status   status
	ran      int // tasks that began to run
	holds    map[string]bool
	lastRan  time.Time // when the last of them did
	failed   string    // the last error it logged
	expected bool      // its end is our doing
	code     int
}

// launch starts a child. Its log goes to a file of its own in dir, too.
func launch(name, dir string, c childConfig, l *ledger) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{name: name, logPath: filepath.Join(dir, name+".log"), exited: make(chan struct{}), ledger: l, holds: map[string]bool{}}
	log, err := os.Create(p.logPath)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.Command(self, c.args()...)
	p.cmd.Stderr = log
	// In a group of its own it is spared the terminal's Ctrl-C; and should we die while it is stopped, it gets SIGHUP.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err1 := p.cmd.StdinPipe()
	stdout, err2 := p.cmd.StdoutPipe()
	p.began = time.Now()
	if err := errors.Join(err1, err2); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start child %s: %w", name, err), log.Close())
	}
	p.stdin = stdin
	go p.watch(stdout, log)
	return p, nil
}

// A line is one of a child's log: its own status, or what the engine logged.
type line struct {
	Status *status         `json:"status"`
	Time   time.Time       `json:"time"`
	Level  string          `json:"level"`
	Msg    string          `json:"msg"`
	Task   json.RawMessage `json:"task"`
	Error  json.RawMessage `json:"error"`
}

// watch reads what the child writes until it is gone.
func (p *process) watch(stdout io.Reader, log io.WriteCloser) {
	defer close(p.exited)
	defer log.Close()
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 64<<10), 4<<20)
	for lines.Scan() {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.Status != nil {
			p.mu.Lock()
			p.status = *l.Status
			p.mu.Unlock()
			continue
		}
		_, _ = fmt.Fprintln(log, lines.Text())
		p.heard(l)
	}
	_, _ = io.Copy(io.Discard, stdout)
	_ = p.cmd.Wait() // the code says it
	p.mu.Lock()
	p.code = p.cmd.ProcessState.ExitCode()
	p.mu.Unlock()
	p.ledger.note(time.Now(), gone, p.name, "")
}

func (p *process) heard(l line) {
	switch l.Msg {
	case "task runs":
		p.ledger.note(l.Time, runs, p.name, string(l.Task))
		p.mu.Lock()
		p.ran, p.lastRan = p.ran+1, l.Time
		p.holds[string(l.Task)] = true
		p.mu.Unlock()
	case "task stops":
		p.ledger.note(l.Time, stops, p.name, string(l.Task))
		p.mu.Lock()
		delete(p.holds, string(l.Task))
		p.mu.Unlock()
	case "the group session ended; joining again":
		p.ledger.note(l.Time, doubtful, p.name, "")
	}
	if l.Level == "ERROR" {
		p.mu.Lock()
		p.failed = l.Msg + ": " + string(l.Error)
		p.mu.Unlock()
	}
}

func (p *process) now() status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// tasks is how many tasks the process has begun to run so far, and when the last of them began.
func (p *process) tasks() (int, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ran, p.lastRan
}

// running is which tasks the process runs.
func (p *process) running() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.holds)
}

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// unexpected says how the process ended, if that was not our doing.
func (p *process) unexpected() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expected {
		return ""
	}
	return fmt.Sprintf("instance %s ended by itself with status %d: %s (log: %s)", p.name, p.code, p.failed, p.logPath)
}

func (p *process) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = true
}

// kill is kill -9; it returns when the process is gone.
func (p *process) kill() {
	if p.alive() {
		p.expect()
	}
	p.ledger.note(time.Now(), gone, p.name, "")
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// dump ends the process with its goroutines' stacks in its log.
func (p *process) dump() {
	p.expect()
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	timeout := time.AfterFunc(10*time.Second, p.kill)
	defer timeout.Stop()
	<-p.exited
}

// freeze is SIGSTOP, thaw SIGCONT.
func (p *process) freeze() error {
	p.ledger.note(time.Now(), doubtful, p.name, "")
	return p.cmd.Process.Signal(syscall.SIGSTOP)
}

func (p *process) thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// stop is SIGTERM: the process must end by itself, well, within the limit.
func (p *process) stop(ctx context.Context, limit time.Duration) (time.Duration, error) {
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && p.alive() {
		return 0, fmt.Errorf("stop %s: %w", p.name, err)
	}
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	select {
	case <-p.exited:
	case <-timeout.C:
		p.kill()
		return time.Since(began), fmt.Errorf("instance %s did not stop within %v (log: %s)", p.name, limit, p.logPath)
	case <-ctx.Done():
		return time.Since(began), ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expected = true; p.code != 0 {
		return time.Since(began), fmt.Errorf("instance %s stopped with status %d: %s (log: %s)", p.name, p.code, p.failed, p.logPath)
	}
	return time.Since(began), nil
}
