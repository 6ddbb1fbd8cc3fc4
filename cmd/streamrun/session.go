package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/stream"
)

// A session is one run of a job.
type session struct {
	o   *options
	job job
	dir string
	out io.Writer
	log *slog.Logger

	errOut io.Writer

	brokers []string
	client  *kgo.Client
	admin   *kadm.Client
}

func (s *session) run(ctx context.Context) error {
	stopBroker, err := s.openBrokers(ctx)
	if err != nil {
		return err
	}
	defer stopBroker()
	defer s.client.Close()
	loaded, err := s.prepare(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	app, registry, err := s.build()
	if err != nil {
		return err
	}
	url, stopHTTP, err := s.serve(app.Handler(registry))
	if err != nil {
		return err
	}
	defer stopHTTP()
	s.greet(loaded, url)

	v, err := newViewer(s.brokers, s.job)
	if err != nil {
		return err
	}
	defer v.close()
	if s.o.once {
		err = app.RunUntilEnd(ctx)
	} else {
		done := s.reportCaughtUp(ctx)
		err = app.Run(ctx)
		<-done
	}
	if err != nil {
		return err
	}
	return s.conclude(v)
}

// stopped is nil for an error that is due to the user's Ctrl-C.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// openBrokers starts the embedded broker, or looks whether the others are there.
func (s *session) openBrokers(ctx context.Context) (stop func(), err error) {
	s.brokers, stop = s.o.brokers, func() {}
	if len(s.brokers) == 0 {
		if s.brokers, stop, err = startBroker(filepath.Join(s.dir, "broker"), s.log); err != nil {
			return nil, err
		}
	}
	s.client, err = kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.ClientID("streamrun"))
	if err != nil {
		stop()
		return nil, fmt.Errorf("--brokers: %w", err)
	}
	s.admin = kadm.NewClient(s.client)
	pctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := s.client.Ping(pctx); err != nil {
		s.client.Close()
		stop()
		return nil, fmt.Errorf("no broker answers at %s: is Kafka running there? Without --brokers, an embedded one is started (%w)",
			strings.Join(s.brokers, ","), err)
	}
	return stop, nil
}

// prepare creates the job's topics and fills its source, unless that was done
// before. It returns the number of records that it wrote.
func (s *session) prepare(ctx context.Context) (int, error) {
	if err := createTopics(ctx, s.admin, s.o.partitions, s.job.topics()); err != nil {
		return 0, err
	}
	source := s.job.topics()[0]
	details, err := s.admin.ListTopics(ctx, source)
	if err == nil {
		err = details.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("topic %s: %w", source, err)
	}
	partitions := int32(len(details[source].Partitions))
	records, data, err := s.job.records(partitions)
	if err != nil {
		return 0, err
	}
	return load(ctx, s.client, records, data)
}

func (s *session) build() (*stream.App, *prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	guarantee, _ := s.o.guaranteeOf()
	log := s.log
	if !s.o.verbose {
		log = newLog(s.errOut, slog.LevelWarn) // what is as it should be is of no interest here
	}
	app, err := s.job.topology().Build(stream.Config{
		Brokers: s.brokers, StateDir: filepath.Join(s.dir, "state"), Guarantee: guarantee, CommitInterval: s.o.commitInterval,
		Workers: s.o.workers, Logger: log, Metrics: registry,
	})
	return app, registry, err
}

// serve serves h until stop is called.
func (s *session) serve(h http.Handler) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", s.o.metricsAddr)
	if err != nil {
		return "", nil, fmt.Errorf("cannot serve metrics on %s: choose another --metrics-addr, as 127.0.0.1:0 for any free port (%w)",
			s.o.metricsAddr, err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("metrics are not served any more", "error", err)
		}
	}()
	return "http://" + l.Addr().String(), func() { _ = server.Close() }, nil
}

// greet says where everything is.
func (s *session) greet(loaded int, url string) {
	where := "Kafka"
	if len(s.o.brokers) == 0 {
		where = "embedded, its log is in " + filepath.Join(s.dir, "broker")
	}
	source := s.job.topics()[0]
	records := fmt.Sprintf("%d records loaded into topic %s", loaded, source)
	if loaded == 0 {
		records = "topic " + source + " holds the records already"
	}
	fmt.Fprintf(s.out, `%s
  broker   %s (%s)
  records  %s
  state    %s
  metrics  %s/metrics, and /healthz, /readyz

`, s.job.describe(), strings.Join(s.brokers, ","), where, records, filepath.Join(s.dir, "state"), url)
}

// reportCaughtUp says, once, that all records are processed. It returns at once;
// done is closed when it has ended.
func (s *session) reportCaughtUp(ctx context.Context) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(300 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			if lag, err := s.lag(ctx); err == nil && lag == 0 {
				s.log.Info("all records are processed; the last windows wait for later ones. Ctrl-C stops")
				return
			}
		}
	}()
	return ended
}

// lag is how many offsets the job has still to process.
func (s *session) lag(ctx context.Context) (int64, error) {
	lags, err := s.admin.Lag(ctx, s.job.name())
	if err == nil {
		err = lags.Error()
	}
	if err != nil {
		return 0, err
	}
	group := lags[s.job.name()]
	if len(group.Lag) == 0 {
		return 0, errors.New("the group has no offsets yet")
	}
	return group.Lag.Total(), nil
}

// conclude waits until all that is committed was shown, and sums up.
func (s *session) conclude(v *viewer) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := v.finish(ctx, s.admin); err != nil {
		return err
	}
	err := s.job.conclude(s.out, s.o.once)
	if terr := s.listTopics(ctx); terr != nil {
		err = errors.Join(err, terr)
	}
	if s.o.stateDir == "" && s.o.keep {
		fmt.Fprintf(s.out, "\nKept in %s: give it as --state-dir to go on.\n", s.dir)
	}
	return err
}
