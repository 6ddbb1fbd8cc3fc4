package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/client"
	"github.com/weirstream/weir/internal/restore"
)

// passes reports whether an error may be over when the same is tried again.
func passes(err error) bool {
	var network net.Error
	var protocol *kerr.Error
	switch {
	case errors.Is(err, client.ErrNotOwned), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.As(err, &network):
		return true
	case errors.Is(err, kerr.OffsetOutOfRange): // the former owner's purge came in between: the next try begins at the new start
		return true
	case kgo.IsRetryableBrokerErr(err), errors.Is(err, io.EOF):
		return true
	case errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.RebalanceInProgress):
		return true
	case errors.Is(err, restore.ErrCut), errors.Is(err, kerr.UnknownServerError):
		return true
	case errors.As(err, &protocol):
		return protocol.Retriable
	}
	return false
}

// permanent returns the error to stop with if a write was refused for a reason
// that trying again does not mend, nil otherwise.
func permanent(err error) error {
	for _, e := range []error{
		kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTimestamp,
		kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.InvalidTopicException, kerr.UnsupportedForMessageFormat,
	} {
		if errors.Is(err, e) {
			return fmt.Errorf("nothing of the interval was committed: %w", err)
		}
	}
	return nil
}
