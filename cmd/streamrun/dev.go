package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"github.com/weirstream/weir/stream"
)

// options are the flags of dev.
type options struct {
	once           bool
	brokers        []string
	stateDir       string
	keep           bool
	data           string
	workers        int
	partitions     int32
	commitInterval time.Duration
	guarantee      string
	metricsAddr    string
	verbose        bool
}

func devCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "dev [flights|wordcount]",
		Short: "Run an example job on an embedded broker, and show its results",
		Long: `dev starts an embedded broker, creates the job's topics, loads real records into them, runs the job
exactly once, and prints results as they are committed. Ctrl-C stops it.

Jobs:
  flights    (the default) departures of each New York airport per hour, and how each aircraft was kept
             busy; what is late goes to topics of its own
  wordcount  the words of a speech

A second run with the same --state-dir goes on where the first one stopped. With --brokers, the job runs on
Kafka 4.0 or newer instead.`,
		Example: `  streamrun dev --once                         January 2013, and a check of the results
  streamrun dev --once --data full             the whole year
  streamrun dev --data full --state-dir ./demo stop it, kill -9 it, start it again
  streamrun dev --brokers localhost:9092       on your Kafka`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"flights", "wordcount"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			name := "flights"
			if len(args) > 0 {
				name = args[0]
			}
			return dev(cmd, name, &o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.once, "once", false, "process what there is, close all windows, check the results and end")
	f.StringSliceVar(&o.brokers, "brokers", nil, "run on Kafka at `host:port,...` instead of the embedded broker")
	f.StringVar(&o.stateDir, "state-dir", "", "keep state, and the embedded broker's log, in `directory` (default a temporary one)")
	f.BoolVar(&o.keep, "keep", false, "do not remove the temporary directory at the end")
	f.StringVar(&o.data, "data", "", "what to load: for flights month (the default), full or a CSV file, for wordcount a text file")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "goroutines that share the job's tasks")
	f.Int32Var(&o.partitions, "partitions", 1, "partitions of the topics that are created")
	f.DurationVar(&o.commitInterval, "commit-interval", 100*time.Millisecond, "how often to commit")
	f.StringVar(&o.guarantee, "guarantee", stream.ExactlyOnce.String(), "exactly_once or at_least_once")
	f.StringVar(&o.metricsAddr, "metrics-addr", "127.0.0.1:0", "serve /metrics, /healthz and /readyz on `host:port`; port 0 is any free one")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log more")
	return cmd
}

// check finds mistakes in the flags.
func (o *options) check(cmd *cobra.Command) error {
	var errs []error
	if _, err := o.guaranteeOf(); err != nil {
		errs = append(errs, err)
	}
	if o.workers < 1 {
		errs = append(errs, fmt.Errorf("--workers is %d: at least one is needed", o.workers))
	}
	if o.partitions < 1 {
		errs = append(errs, fmt.Errorf("--partitions is %d: at least one is needed", o.partitions))
	}
	if o.commitInterval <= 0 {
		errs = append(errs, fmt.Errorf("--commit-interval is %v: it must be positive", o.commitInterval))
	}
	if cmd.Flags().Changed("brokers") && len(o.brokers) == 0 {
		errs = append(errs, errors.New("--brokers is empty"))
	}
	return errors.Join(errs...)
}

func (o *options) guaranteeOf() (stream.Guarantee, error) {
	for _, g := range []stream.Guarantee{stream.ExactlyOnce, stream.AtLeastOnce} {
		if g.String() == o.guarantee {
			return g, nil
		}
	}
	return 0, fmt.Errorf("--guarantee is %q: it must be %s or %s", o.guarantee, stream.ExactlyOnce, stream.AtLeastOnce)
}

// dev runs a job until the command's context ends, or to its end.
func dev(cmd *cobra.Command, name string, o *options) (err error) {
	defer func() {
		if err != nil {
			err = &failure{err}
		}
	}()
	j, err := newJob(name, o, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	dir, done, err := openHome(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	s := &session{o: o, job: j, dir: dir, out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(), log: newLog(cmd.ErrOrStderr(), level)}
	return s.run(cmd.Context())
}

// openHome makes and locks the directory of a run. done gives it back.
func openHome(o *options) (dir string, done func() error, err error) {
	dir = o.stateDir
	temporary := dir == ""
	if temporary {
		if dir, err = os.MkdirTemp("", "streamrun-"); err != nil {
			return "", nil, fmt.Errorf("no temporary directory: %w; give one with --state-dir", err)
		}
	} else if err = os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, fmt.Errorf("cannot make --state-dir: %w", err)
	}
	lock, err := vfs.Default.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		return "", nil, fmt.Errorf("%s is in use: another streamrun may be running there; choose another --state-dir (%w)", dir, err)
	}
	return dir, func() error {
		err := lock.Close()
		if temporary && !o.keep {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return err
	}, nil
}

// newLog logs for people: short, and the time of day only.
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		switch {
		case len(groups) > 0:
		case a.Key == slog.TimeKey:
			a.Value = slog.StringValue(a.Value.Time().Format("15:04:05"))
		case a.Key == slog.LevelKey && a.Value.String() == slog.LevelInfo.String():
			return slog.Attr{}
		}
		return a
	}}))
}
