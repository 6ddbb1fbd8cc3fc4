package faults

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/stream"
)

// A refusal is what the broker answers to some requests of one kind, instead of
// doing what they ask.
type refusal struct {
	key   kmsg.Key
	codes []*kerr.Error
}

// refusals are errors that the requests' own documentation names, and that an
// app must get over.
var refusals = []refusal{
	{kmsg.Produce, []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.NotEnoughReplicas, kerr.UnknownTopicOrPartition, kerr.KafkaStorageError,
		kerr.UnknownProducerID, kerr.OutOfOrderSequenceNumber, kerr.InvalidProducerEpoch, kerr.TransactionAbortable, kerr.InvalidTxnState,
		kerr.ProducerFenced, kerr.UnknownServerError, kerr.ConcurrentTransactions, kerr.CoordinatorNotAvailable,
	}},
	{kmsg.TxnOffsetCommit, []*kerr.Error{
		kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.RebalanceInProgress,
		kerr.ConcurrentTransactions, kerr.InvalidProducerEpoch, kerr.TransactionAbortable, kerr.InvalidTxnState, kerr.UnknownServerError,
		kerr.CoordinatorNotAvailable, kerr.RequestTimedOut, kerr.UnknownTopicOrPartition,
	}},
	{kmsg.OffsetCommit, []*kerr.Error{kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.NotCoordinator,
		kerr.RebalanceInProgress, kerr.UnknownServerError}},
	{kmsg.InitProducerID, []*kerr.Error{
		kerr.ConcurrentTransactions, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.RequestTimedOut, kerr.UnknownServerError,
	}},
	{kmsg.OffsetFetch, []*kerr.Error{kerr.UnstableOffsetCommit, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.UnknownServerError}},
	{kmsg.Heartbeat, []*kerr.Error{kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.NotCoordinator}},
	{kmsg.JoinGroup, []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.UnknownMemberID}},
	{kmsg.SyncGroup, []*kerr.Error{kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.NotCoordinator}},
	{kmsg.Fetch, []*kerr.Error{kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.UnknownTopicOrPartition,
		kerr.UnknownLeaderEpoch, kerr.UnknownServerError}},
	{kmsg.ListOffsets, []*kerr.Error{kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.OffsetNotAvailable, kerr.UnknownServerError}},
}

// inject refuses every nth request of the kind, at most times times. Requests of
// others than the app are to be made before.
func (r refusal) inject(c *kfake.Cluster, code *kerr.Error, nth, times int64) (hit *atomic.Int64) {
	var seen atomic.Int64
	hit = &atomic.Int64{}
	c.ControlKey(int16(r.key), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if hit.Load() >= times || seen.Add(1)%nth != 0 {
			return nil, nil, false
		}
		resp := refuse(req, code.Code)
		if resp == nil {
			return nil, nil, false
		}
		hit.Add(1)
		return resp, nil, true
	})
	return hit
}

// Whatever a broker refuses with an error that passes, the app goes on, and the
// answer is the oracle's. (C62 is one of these)
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, r := range refusals {
		for _, code := range r.codes {
			t.Run(fmt.Sprintf("%s/%s", r.key.Name(), code.Message), func(t *testing.T) {
				t.Parallel()
				seed := seedOf(t)
				rng := rand.New(rand.NewPCG(uint64(seed), 0))
				records := input(rng, 400)
				c := kafkatest.Fake(t)
				cluster(t, c.ListenAddrs(), records)
				cfg := configOf(c.ListenAddrs())
				cfg.TransactionTimeout, cfg.SessionTimeout = 5*time.Second, 6*time.Second
				nth, times := int64(2+rng.IntN(3)), int64(3)
				if r.key == kmsg.InitProducerID || r.key == kmsg.JoinGroup || r.key == kmsg.SyncGroup || r.key == kmsg.Heartbeat {
					nth, times = 1, 1
				}
				hit := r.inject(c, code, nth, times)
				run := (*stream.App).RunUntilEnd
				if r.key == kmsg.Heartbeat { // the first is late
					run = (*stream.App).Run
				}
				i := start(t, &instance{cfg: cfg}, run)
				if r.key == kmsg.Heartbeat {
					kafkatest.Eventually(t, patience, func() error {
						if hit.Load() == 0 {
							return fmt.Errorf("no heartbeat yet")
						}
						return nil
					})
					more := input(rng, 100)
					fill(t, c.ListenAddrs(), more)
					records = append(records, more...)
					settled(t, c.ListenAddrs())
					require.NoError(t, i.stop())
					i = start(t, &instance{cfg: cfg, fs: i.fs}, (*stream.App).RunUntilEnd)
				}
				require.NoError(t, i.wait())
				require.Positive(t, hit.Swap(times), "it did not happen") // and it does not any more
				check(t, c.ListenAddrs(), records, i.fs)
			})
		}
	}
}

// refuse is an answer that says nothing but an error code; nil if the request
// asks for nothing that could be refused.
func refuse(r kmsg.Request, code int16) kmsg.Response {
	switch req := r.(type) {
	case *kmsg.ProduceRequest:
		return refuseProduce(req, code, func(kmsg.ProduceRequestTopic) bool { return true })
	case *kmsg.TxnOffsetCommitRequest:
		resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewTxnOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	case *kmsg.OffsetCommitRequest:
		resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetCommitResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	case *kmsg.FetchRequest:
		return refuseFetch(req, code)
	case *kmsg.ListOffsetsRequest:
		return refuseListOffsets(req, code)
	case *kmsg.OffsetFetchRequest:
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		resp.ErrorCode = code
		for _, g := range req.Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group, rg.ErrorCode = g.Group, code
			resp.Groups = append(resp.Groups, rg)
		}
		return resp
	}
	return refuseWhole(r, code)
}

// refuseWhole is refuse for requests that have one error code.
func refuseWhole(r kmsg.Request, code int16) kmsg.Response {
	resp := r.ResponseKind()
	switch resp := resp.(type) {
	case *kmsg.InitProducerIDResponse:
		resp.ErrorCode = code
	case *kmsg.HeartbeatResponse:
		resp.ErrorCode = code
	case *kmsg.JoinGroupResponse:
		resp.ErrorCode = code
	case *kmsg.SyncGroupResponse:
		resp.ErrorCode = code
	default:
		return nil
	}
	return resp
}

// refuseProduce refuses what is for some topics. What is for others is refused
// with an error that is tried again.
func refuseProduce(req *kmsg.ProduceRequest, code int16, which func(kmsg.ProduceRequestTopic) bool) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			if rp.Partition, rp.ErrorCode = p.Partition, code; !which(t) {
				rp.ErrorCode = kerr.NotLeaderForPartition.Code
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func refuseFetch(req *kmsg.FetchRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	resp.SessionID = req.SessionID
	for _, t := range req.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if len(resp.Topics) == 0 {
		return nil
	}
	return resp
}

func refuseListOffsets(req *kmsg.ListOffsetsRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
