package kafkatest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// One broker goes through all that can happen to it, and no acknowledged record is lost.
func TestRealBroker(t *testing.T) {
	b := Start(t, Set("message.max.bytes=2000000"))
	CreateTopic(t, b.Addrs(), "lives", 2, map[string]string{"cleanup.policy": "compact"})
	settings, err := b.Tool("org.apache.kafka.tools.ConfigCommand", "--bootstrap-server", b.Addr(),
		"--entity-type", "brokers", "--entity-name", "1", "--describe", "--all")
	require.NoError(t, err)
	require.Contains(t, settings, "message.max.bytes=2000000")

	client := NewClient(t, b.Addrs())
	n := 0
	write := func() {
		n++
		Produce(t, b.Addrs(), &kgo.Record{Topic: "lives", Partition: int32(n % 2), Key: fmt.Append(nil, n)})
	}
	check := func() {
		t.Helper()
		var got int
		for _, records := range ReadAll(t, b.Addrs(), "lives", kgo.ReadCommitted()) {
			got += len(records)
		}
		require.Equal(t, n, got)
	}
	write()

	require.NoError(t, b.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	require.Error(t, client.Ping(ctx), "a paused broker must not answer")
	cancel()
	require.NoError(t, b.Resume())
	require.NoError(t, client.Ping(t.Context()))
	write()
	check()

	require.NoError(t, b.Kill9())
	require.False(t, listening(b.Addr()), "a killed broker must not listen")
	require.NoError(t, b.Restart())
	write()
	check()

	require.NoError(t, b.Stop())
	require.False(t, listening(b.Addr()), "a stopped broker must not listen")
	require.NoError(t, b.Restart())
	check()

	b.Close()
	require.False(t, listening(b.Addr()))
	require.NoDirExists(t, b.home)
}

// TestBrokerDiesWithItsProcess kills the process that launched a broker, as a test that times out is killed.
func TestBrokerDiesWithItsProcess(t *testing.T) {
	if os.Getenv("KAFKATEST_CHILD") != "" {
		b, err := Launch()
		require.NoError(t, err)
		fmt.Printf("\n%s %s\n", b.Addr(), b.home)
		select {} // the parent kills us
	}
	if why := Missing(); why != "" {
		Skip(t, "%s", why)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestBrokerDiesWithItsProcess$", "-test.timeout=2m")
	child.Env = append(os.Environ(), "KAFKATEST_CHILD=1")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())

	var addr, home string
	for lines := bufio.NewScanner(out); home == "" && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "127.0.0.1:%s %s", &addr, &home)
	}
	require.NotEmpty(t, home, "the child did not report a broker")
	addr = "127.0.0.1:" + addr
	require.True(t, listening(addr))
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	Eventually(t, 30*time.Second, func() error {
		if listening(addr) {
			return fmt.Errorf("the broker still listens on %s", addr)
		}
		if _, err := os.Stat(home); err == nil {
			return fmt.Errorf("its directory %s is still there", home)
		}
		return nil
	})
}

func TestSharedBrokerIsOne(t *testing.T) {
	require.Same(t, Shared(t), Shared(t))
	CreateTopic(t, Shared(t).Addrs(), "shared", 1, nil)
	transactions(t, Shared(t).Addrs(), "shared")
}

func listening(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
