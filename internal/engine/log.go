package engine

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// quiet hands the Kafka client's warnings and errors on; what it calls
// information is for debugging.
type quiet struct{ log *slog.Logger }

// Level implements kgo.Logger.
func (q quiet) Level() kgo.LogLevel {
	if q.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelInfo
	}
	return kgo.LogLevelWarn
}

// Log implements kgo.Logger.
func (q quiet) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	at := slog.LevelDebug
	switch level {
	case kgo.LogLevelError, kgo.LogLevelWarn:
		at = slog.LevelWarn
	}
	q.log.Log(context.Background(), at, "kafka client: "+msg, keyvals...)
}
