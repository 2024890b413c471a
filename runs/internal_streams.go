package runs

import (
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// RecordActionStream implements workflowconnect.InternalRunServiceHandler: RecordAction many times, answered in order.
func (h *internalHandler) RecordActionStream(
	ctx context.Context, stream *connect.BidiStream[workflow.RecordActionStreamRequest, workflow.RecordActionStreamResponse],
) error {
	return answerEach(stream, func(r *workflow.RecordActionStreamRequest) (*workflow.RecordActionStreamResponse, error) {
		response, err := h.RecordAction(ctx, r.GetRequest())
		return &workflow.RecordActionStreamResponse{Response: response}, err
	})
}

// UpdateActionStatusStream implements workflowconnect.InternalRunServiceHandler. Answers carry the request's nonce.
func (h *internalHandler) UpdateActionStatusStream(
	ctx context.Context, stream *connect.BidiStream[workflow.UpdateActionStatusStreamRequest, workflow.UpdateActionStatusStreamResponse],
) error {
	return answerEach(stream, func(r *workflow.UpdateActionStatusStreamRequest) (*workflow.UpdateActionStatusStreamResponse, error) {
		response, err := h.UpdateActionStatus(ctx, r.GetRequest())
		return &workflow.UpdateActionStatusStreamResponse{Response: response, Nonce: r.GetNonce()}, err
	})
}

// RecordActionEventStream implements workflowconnect.InternalRunServiceHandler. Answers carry the request's nonce.
func (h *internalHandler) RecordActionEventStream(
	ctx context.Context, stream *connect.BidiStream[workflow.RecordActionEventStreamRequest, workflow.RecordActionEventStreamResponse],
) error {
	return answerEach(stream, func(r *workflow.RecordActionEventStreamRequest) (*workflow.RecordActionEventStreamResponse, error) {
		event := r.GetRequest().GetEvent()
		err := h.svc.recordEvents(ctx, []*workflow.ActionEvent{event})
		return &workflow.RecordActionEventStreamResponse{
			Response: &workflow.RecordActionEventResponse{ActionId: event.GetId(), Status: rpc.StatusOf(err)},
			Nonce:    r.GetNonce(),
		}, nil
	})
}

// answerEach answers the requests of a stream one after the other until the client is done.
func answerEach[Request, Response any](
	stream *connect.BidiStream[Request, Response], answer func(*Request) (*Response, error),
) error {
	for {
		request, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		response, err := answer(request)
		if err != nil {
			return err
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}
