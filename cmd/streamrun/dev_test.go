package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirstream/weir/internal/kafkatest"
)

// build builds the program once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "streamrun-test-")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "streamrun")
	out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return name, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if name, err := build(); err == nil {
		os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(code)
}

// start starts the program in a directory of its own.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	name, err := build()
	require.NoError(t, err)
	p := &process{cmd: exec.Command(name, args...)}
	p.cmd.Dir = t.TempDir()
	p.cmd.Env = append(os.Environ(), "TMPDIR="+p.cmd.Dir)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("standard output:\n%s\nstandard error:\n%s", p.out.String(), p.err.String())
		}
	})
	return p
}

type process struct {
	cmd      *exec.Cmd
	out, err output
}

// An output may be read while the process writes it.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// says waits until the program's output has pattern, and returns the submatch.
func (p *process) says(t *testing.T, o *output, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var found []string
	kafkatest.Eventually(t, 2*time.Minute, func() error {
		if found = re.FindStringSubmatch(o.String()); found == nil {
			return io.ErrNoProgress
		}
		return nil
	})
	return found[len(found)-1]
}

// What the summary says of the month on one partition.
const (
	monthHours    = `hours +26483 +1642 +331 +26152 +c975856e308fe5e5 +as expected`
	monthSessions = `sessions +26483 +19853 +23 +26460 +b50d0ab8a16da09d +as expected`
)

func TestDevOnce(t *testing.T) {
	p := start(t, "dev", "--once")
	require.NoError(t, p.cmd.Wait())
	out := p.out.String()
	require.Regexp(t, monthHours, out)
	require.Regexp(t, monthSessions, out)
	require.Contains(t, out, "26483 records loaded into topic flights")
	require.Regexp(t, `2013-01-02 +336 +315 +257 +908`, out)
	require.Regexp(t, `EWR  2013-01-04 11:00 +35 flights`, out)
	left, err := filepath.Glob(filepath.Join(p.cmd.Dir, "streamrun-*"))
	require.NoError(t, err)
	require.Empty(t, left, "the temporary directory is removed")
}

func TestDevOnceCountsWords(t *testing.T) {
	p := start(t, "dev", "wordcount", "--once")
	require.NoError(t, p.cmd.Wait())
	require.Contains(t, p.out.String(), "16 lines, 151 different words: as counted without Weir")
}

// TestDevGoesOn stops the program by Ctrl-C and by a kill, and lets another one
// come to the end.
func TestDevGoesOn(t *testing.T) {
	dir := t.TempDir()
	args := []string{"dev", "--data", "month", "--partitions", "1", "--state-dir", dir}
	p := start(t, args...)
	p.says(t, &p.out, `2013-01-05 `)
	require.NoError(t, p.cmd.Process.Kill())
	require.Error(t, p.cmd.Wait())

	p = start(t, args...)
	p.says(t, &p.out, `topic flights holds the records already`)
	url := p.says(t, &p.out, `metrics +(http://\S+)/metrics`)
	p.says(t, &p.err, `all records are processed`)
	require.Equal(t, "ok\n", get(t, url+"/healthz"))
	require.Equal(t, "ready\n", get(t, url+"/readyz"))
	require.Contains(t, get(t, url+"/metrics"), `weir_records_in_total{app="flights"`)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, p.cmd.Wait())
	require.Regexp(t, `hours +26\d+ .* so far`, p.out.String())

	p = start(t, append(args, "--once")...)
	require.NoError(t, p.cmd.Wait())
	require.Regexp(t, monthHours, p.out.String())
	require.Regexp(t, monthSessions, p.out.String())
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, string(body))
	return string(body)
}

func TestErrorsSayWhatToDo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed.Close()
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"dev nojob", exitUsage, `invalid argument "nojob"`},
		{"dev --guarantee maybe", exitUsage, `--guarantee is "maybe": it must be exactly_once or at_least_once`},
		{"dev --workers 0 --partitions 0 --commit-interval 0s", exitUsage, "--partitions is 0: at least one is needed"},
		{"dev --fast", exitUsage, `See "streamrun dev --help"`},
		{"dev --data nothing.csv", exitFailed, `there are also "month" and "full"`},
		{"dev --data month --metrics-addr " + taken.Addr().String(), exitFailed, "choose another --metrics-addr"},
		{"dev --data month --brokers " + closed.Addr().String(), exitFailed, "is Kafka running there?"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := run(context.Background(), strings.Fields(c.args), &out, &errOut)
			require.Equal(t, c.code, code, errOut.String())
			require.Contains(t, errOut.String(), c.says)
		})
	}
}

func TestTwoInOneDirectory(t *testing.T) {
	dir := t.TempDir()
	_, done, err := openHome(&options{stateDir: dir})
	require.NoError(t, err)
	_, _, err = openHome(&options{stateDir: dir})
	require.ErrorContains(t, err, "another streamrun may be running there")
	require.NoError(t, done())
	_, done, err = openHome(&options{stateDir: dir})
	require.NoError(t, err)
	require.NoError(t, done())
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	require.Zero(t, run(context.Background(), []string{"version"}, &out, io.Discard))
	require.Contains(t, out.String(), "streamrun ")
}
