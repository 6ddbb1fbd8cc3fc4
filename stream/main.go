package stream

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Main is the main function of a job: it builds the topology, runs it until
// SIGINT or SIGTERM, then commits, leaves the group and returns. A second signal
// ends the process at once. What stops the app otherwise is logged, and ends the
// process with status 1.
//
// The environment configures it (see FromEnv); these flags go before it:
//
//	-brokers host:port,...  WEIR_BROKERS
//	-state-dir directory    WEIR_STATE_DIR
//	-http host:port         WEIR_HTTP: serve /healthz, /readyz and /metrics (see App.Handler)
//	-once                   process what the sources hold now, close all windows and end
//	-v                      log more
//
// A job may define flags of its own in package flag: Main parses them before it
// calls topology. It logs to standard error.
func Main(topology func() *Topology) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // gives a second signal its usual meaning
	if err := runMain(ctx, topology, flag.CommandLine, os.Args[1:], os.Stderr); err != nil {
		os.Exit(1)
	}
}

// settings are Main's flags.
type settings struct {
	brokers, stateDir, http string
	once, verbose           bool
}

func runMain(ctx context.Context, topology func() *Topology, flags *flag.FlagSet, args []string, stderr io.Writer) error {
	var s settings
	flags.StringVar(&s.brokers, "brokers", "", "Kafka's `host:port,...`; or WEIR_BROKERS")
	flags.StringVar(&s.stateDir, "state-dir", "", "this instance's own `directory` for state; or WEIR_STATE_DIR")
	flags.StringVar(&s.http, "http", os.Getenv("WEIR_HTTP"), "serve /healthz, /readyz and /metrics on `host:port`; or WEIR_HTTP")
	flags.BoolVar(&s.once, "once", false, "process what the sources hold now, close all windows and end")
	flags.BoolVar(&s.verbose, "v", false, "log more")
	if err := flags.Parse(args); err != nil {
		return err
	}
	level := slog.LevelInfo
	if s.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	err := s.run(ctx, topology, log)
	if err != nil {
		log.Error("stopped", "error", err)
	}
	return err
}

func (s *settings) run(ctx context.Context, topology func() *Topology, log *slog.Logger) error {
	cfg, err := FromEnv()
	if err != nil {
		return err
	}
	if s.brokers != "" {
		cfg.Brokers = strings.Split(s.brokers, ",")
	}
	if s.stateDir != "" {
		cfg.StateDir = s.stateDir
	}
	if len(cfg.Brokers) == 0 {
		return errors.New("no brokers: set WEIR_BROKERS or give -brokers, as in -brokers localhost:9092")
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	cfg.Logger, cfg.Metrics = log, registry
	app, err := topology().Build(cfg)
	if err != nil {
		return err
	}
	if s.http != "" {
		stop, err := serve(s.http, app.Handler(registry), log)
		if err != nil {
			return err
		}
		defer stop()
	}
	if s.once {
		return app.RunUntilEnd(ctx)
	}
	return app.Run(ctx)
}

// serve serves h on addr until the function that it returns is called.
func serve(addr string, h http.Handler, log *slog.Logger) (stop func(), err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot serve HTTP on %s, choose another address with -http or WEIR_HTTP: %w", addr, err)
	}
	log.Info("serving /healthz, /readyz and /metrics", "address", l.Addr())
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("HTTP is not served any more", "error", err)
		}
	}()
	return func() { _ = server.Close() }, nil
}
