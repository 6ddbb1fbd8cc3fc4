package stream

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/serde"
)

// lengths is a topology that counts lines by their length.
func lengths() *Topology {
	top := New("lengths")
	top.Stream(NewTopic("lines", serde.String, serde.String)).
		GroupBy("by-length", func(s string) int64 { return int64(len(s)) }).
		Count("counts").
		Updates().
		To(NewTopic("counts", serde.Int64, serde.Int64))
	return top
}

// fakeWithLines is a broker that holds 100 lines of one length.
func fakeWithLines(t *testing.T) []string {
	addrs := kafkatest.Fake(t).ListenAddrs()
	kafkatest.CreateTopic(t, addrs, "lines", 2, nil)
	kafkatest.CreateTopic(t, addrs, "counts", 2, nil)
	var records []*kgo.Record
	for i := range 100 {
		records = append(records, &kgo.Record{Topic: "lines", Partition: int32(i % 2), Value: []byte("four")})
	}
	kafkatest.Produce(t, addrs, records...)
	return addrs
}

// counted reads the last count that was written.
func counted(t *testing.T, addrs []string) (n int64) {
	for _, partition := range kafkatest.ReadAll(t, addrs, "counts", kgo.ReadCommitted()) {
		for _, r := range partition {
			var err error
			n, err = serde.Int64.Decode(r.Value)
			require.NoError(t, err)
		}
	}
	return n
}

// A log may be read while it is written.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func flags() *flag.FlagSet {
	f := flag.NewFlagSet("job", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

func TestMainOnce(t *testing.T) {
	addrs := fakeWithLines(t)
	t.Setenv("WEIR_BROKERS", strings.Join(addrs, ","))
	t.Setenv("WEIR_STATE_DIR", t.TempDir())
	own := flags()
	mine := own.String("mine", "", "a flag of the job's")
	require.NoError(t, runMain(t.Context(), func() *Topology {
		require.Equal(t, "yes", *mine, "flags are parsed first")
		return lengths()
	}, own, []string{"-once", "-mine", "yes"}, &log{}))
	require.EqualValues(t, 100, counted(t, addrs))
}

func TestMainServesUntilItIsStopped(t *testing.T) {
	addrs := fakeWithLines(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var l log
	ended := make(chan error, 1)
	go func() {
		ended <- runMain(ctx, lengths, flags(), []string{
			"-brokers", addrs[0], "-state-dir", t.TempDir(), "-http", "127.0.0.1:0",
		}, &l)
	}()
	address := regexp.MustCompile(`address=(\S+)`)
	var url string
	kafkatest.Eventually(t, time.Minute, func() error {
		found := address.FindStringSubmatch(l.String())
		if found == nil {
			return io.ErrNoProgress
		}
		url = "http://" + found[1]
		return nil
	})
	status, body := get(t, url+"/healthz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok\n", body)
	kafkatest.Eventually(t, time.Minute, func() error {
		if status, body := get(t, url+"/readyz"); status != http.StatusOK {
			require.Equal(t, http.StatusServiceUnavailable, status)
			require.Contains(t, body, "waits")
			return io.ErrNoProgress
		}
		return nil
	})
	_, body = get(t, url+"/metrics")
	require.Contains(t, body, `weir_tasks{app="lengths"`)
	require.Contains(t, body, "go_goroutines")
	cancel()
	require.NoError(t, <-ended, "a stop that was asked for is no error")
	_, err := http.Get(url + "/healthz")
	require.Error(t, err)
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func TestMainSaysWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		says string
	}{
		{"no brokers", nil, nil, "set WEIR_BROKERS or give -brokers"},
		{"environment", map[string]string{"WEIR_WORKERS": "many"}, []string{"-brokers", "localhost:9092"}, "WEIR_WORKERS"},
		{"no directory", nil, []string{"-brokers", "localhost:9092"}, "Config.StateDir is needed"},
		{"address", nil, []string{"-brokers", "localhost:9092", "-state-dir", "x", "-http", taken.Addr().String()}, "choose another address"},
		{"flag", nil, []string{"-twice"}, "flag provided but not defined: -twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			err := runMain(t.Context(), lengths, flags(), c.args, io.Discard)
			require.ErrorContains(t, err, c.says)
		})
	}
}
