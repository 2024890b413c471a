package change

import (
	"context"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// RecordActionEvents implements workflowconnect.InternalRunServiceHandler. An event that does not advance its action
// is not an error. The outcome is in the response body.
func (r *Reporter) RecordActionEvents(ctx context.Context, request *workflow.RecordActionEventsRequest) (*workflow.RecordActionEventsResponse, error) {
	err := r.recordEvents(ctx, request.GetEvents())
	return &workflow.RecordActionEventsResponse{Status: rpc.StatusOf(err)}, nil
}

func (r *Reporter) recordEvents(ctx context.Context, events []*workflow.ActionEvent) error {
	transitions := make([]store.Transition, 0, len(events))
	for _, event := range events {
		transition, err := dispatch.Transition(event, nil)
		if err != nil {
			return err
		}
		transitions = append(transitions, transition)
	}
	if len(transitions) == 0 {
		return nil
	}
	_, err := r.record(ctx, transitions)
	return err
}

// RecordActionEventStream implements workflowconnect.InternalRunServiceHandler. Answers carry the request's nonce.
func (r *Reporter) RecordActionEventStream(
	ctx context.Context, stream *connect.BidiStream[workflow.RecordActionEventStreamRequest, workflow.RecordActionEventStreamResponse],
) error {
	return rpc.AnswerEach(stream, func(request *workflow.RecordActionEventStreamRequest) (*workflow.RecordActionEventStreamResponse, error) {
		event := request.GetRequest().GetEvent()
		err := r.recordEvents(ctx, []*workflow.ActionEvent{event})
		return &workflow.RecordActionEventStreamResponse{
			Response: &workflow.RecordActionEventResponse{ActionId: event.GetId(), Status: rpc.StatusOf(err)},
			Nonce:    request.GetNonce(),
		}, nil
	})
}
