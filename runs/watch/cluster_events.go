package watch

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// ClusterEvents streams what the cluster reported about one attempt, oldest first, until the attempt has ended. The
// first message is sent even if there are no events yet; empty messages are heartbeats.
func (s *Streams) ClusterEvents(ctx context.Context, id ident.Action, attempt uint32, send func(*workflow.WatchClusterEventsResponse) error) error {
	at, err := s.read.locate(ctx, id)
	if err != nil {
		return err
	}
	sub, err := s.hub.Subscribe(at.RunID, at.LastSeq, OneAction(at.ActionID))
	if err != nil {
		return err
	}
	defer sub.Close()
	pace := s.pace()
	defer pace.Stop()

	e := eventStream{streams: s, actionID: at.ActionID, attempt: int32(attempt), send: send} //nolint:gosec // attempts are few
	// The events are read after the state, so that the stream does not end before the last of them.
	if err := e.forward(ctx, true); err != nil || e.over(at.Phase, at.Attempt) {
		return err
	}
	heartbeat := func() error { return send(&workflow.WatchClusterEventsResponse{}) }
	return follow(ctx, pace, sub.Ready(), heartbeat, func() (over bool, err error) {
		taken := sub.Take()
		if taken.Lagged {
			at, err := s.read.locate(ctx, id)
			if err != nil {
				return false, err
			}
			over = e.over(at.Phase, at.Attempt)
		}
		for _, change := range taken.Changes {
			over = e.over(change.Row.Phase, change.Row.Attempt)
		}
		return over, e.forward(ctx, false)
	})
}

// eventStream is one stream of ClusterEvents. Everything up to cursor, a position in the run's log, has been sent.
type eventStream struct {
	streams  *Streams
	actionID int64
	attempt  int32
	cursor   int64
	send     func(*workflow.WatchClusterEventsResponse) error
}

// over reports whether no more events of the attempt can follow.
func (e *eventStream) over(phase int16, attempt int32) bool {
	return protomap.Terminal(common.ActionPhase(phase)) || attempt > e.attempt
}

// eventsPerRead bounds one read and one message.
const eventsPerRead = 500

// forward sends new events; with always, it sends one message even if there are none.
func (e *eventStream) forward(ctx context.Context, always bool) error {
	for {
		rows, err := e.streams.read.attemptEvents(ctx, e.actionID, e.attempt, e.cursor, eventsPerRead)
		if err != nil {
			return err
		}
		response, err := e.response(rows)
		if err != nil {
			return err
		}
		if len(response.GetClusterEvents()) > 0 || always {
			if err := e.send(response); err != nil {
				return err
			}
			always = false
		}
		if len(rows) < eventsPerRead {
			return nil
		}
	}
}

func (e *eventStream) response(rows []watches.ReportedEvent) (*workflow.WatchClusterEventsResponse, error) {
	response := &workflow.WatchClusterEventsResponse{}
	for _, row := range rows {
		event := &workflow.ActionEvent{}
		if err := proto.Unmarshal(row.Body, event); err != nil {
			return nil, rpc.DataLoss(err, "a stored event of the action cannot be read")
		}
		response.ClusterEvents = append(response.ClusterEvents, event.GetClusterEvents()...)
		e.cursor = row.Seq
	}
	return response, nil
}
