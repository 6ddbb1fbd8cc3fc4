package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// startBroker starts an embedded broker with its log in dir, on a free port. It
// does not force each write to the disk: what it has answered outlives this
// process, but not the machine.
func startBroker(dir string, log *slog.Logger) (addrs []string, stop func(), err error) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.WithLogger(brokerLog{log}))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot start the embedded broker in %s: %w; remove the directory, or choose another --state-dir", dir, err)
	}
	cluster.ControlKey(int16(kmsg.DeleteRecords), keepLast)
	return cluster.ListenAddrs(), cluster.Close, nil
}

// keepLast lets a request delete one record less than it asks for. The embedded
// broker tells from the last record of a partition where its log ends: it would
// begin again at offset 0 after a restart if there were none.
func keepLast(request kmsg.Request) (kmsg.Response, error, bool) {
	for _, topic := range request.(*kmsg.DeleteRecordsRequest).Topics {
		for i := range topic.Partitions {
			if p := &topic.Partitions[i]; p.Offset > 0 {
				p.Offset--
			}
		}
	}
	return nil, nil, false
}

// brokerLog hands the embedded broker's errors on.
type brokerLog struct{ log *slog.Logger }

// Logf implements kfake.Logger.
func (l brokerLog) Logf(level kfake.LogLevel, format string, args ...any) {
	if level == kfake.LogLevelError {
		l.log.Error("embedded broker: " + fmt.Sprintf(format, args...))
	}
}

// createTopics creates the topics that do not exist. The records of examples
// keep old times: no broker may delete them for their age.
func createTopics(ctx context.Context, admin *kadm.Client, partitions int32, topics []string) error {
	forever := "-1"
	made, err := admin.CreateTopics(ctx, partitions, -1, map[string]*string{"retention.ms": &forever}, topics...)
	if err != nil {
		return fmt.Errorf("cannot create topics: %w", err)
	}
	for _, t := range made.Sorted() {
		if t.Err != nil && !errors.Is(t.Err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("cannot create topic %s: %w", t.Topic, t.Err)
		}
	}
	return nil
}

// listTopics prints the topics of the job, the engine's own among them.
func (s *session) listTopics(ctx context.Context) error {
	all, err := s.admin.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("cannot list topics: %w", err)
	}
	names := s.job.topics()
	for _, d := range all.Sorted() {
		internal := strings.HasSuffix(d.Topic, "-changelog") || strings.HasSuffix(d.Topic, "-repartition")
		if internal && strings.HasPrefix(d.Topic, s.job.name()+"-") {
			names = append(names, d.Topic)
		}
	}
	starts, serr := s.admin.ListStartOffsets(ctx, names...)
	ends, eerr := s.admin.ListEndOffsets(ctx, names...)
	if err := errors.Join(serr, eerr); err != nil {
		return fmt.Errorf("cannot tell what topics hold: %w", err)
	}
	fmt.Fprintln(s.out)
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "offsets\tpartitions\t topic")
	for _, name := range names {
		held := int64(0)
		for p, end := range ends[name] {
			start, _ := starts.Lookup(name, p)
			held += end.Offset - start.Offset
		}
		fmt.Fprintf(w, "%d\t%d\t %s\n", held, len(ends[name]), name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "Offsets are records and the markers that end transactions; records that are not needed any more are deleted.")
	return nil
}
