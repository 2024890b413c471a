package watch

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
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
	// The state is read before the events, so that the end is not sent before the last of them.
	done := e.over(at.Phase, at.Attempt)
	if err := e.forward(ctx, true); err != nil {
		return err
	}
	for !done {
		pace.Sent()
		why, err := pace.Wait(ctx, sub.Ready(), nil)
		switch {
		case err != nil:
			return err
		case why == stream.Expired:
			return nil
		case why == stream.Heartbeat:
			if err := send(&workflow.WatchClusterEventsResponse{}); err != nil {
				return err
			}
			continue
		}
		taken := sub.Take()
		if taken.Lagged {
			if at, err = s.read.locate(ctx, id); err != nil {
				return err
			}
			done = e.over(at.Phase, at.Attempt)
		}
		for _, change := range taken.Changes {
			done = e.over(change.Row.Phase, change.Row.Attempt)
		}
		if err := e.forward(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

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
