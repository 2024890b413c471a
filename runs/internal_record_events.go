package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/engine"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// RecordActionEvents implements workflowconnect.InternalRunServiceHandler. An event that does not advance its action
// is no error. The outcome is in the answer's body.
func (h *internalHandler) RecordActionEvents(ctx context.Context, request *workflow.RecordActionEventsRequest) (*workflow.RecordActionEventsResponse, error) {
	err := h.svc.recordEvents(ctx, request.GetEvents())
	return &workflow.RecordActionEventsResponse{Status: rpc.StatusOf(err)}, nil
}

func (s *Service) recordEvents(ctx context.Context, events []*workflow.ActionEvent) error {
	transitions := make([]store.Transition, 0, len(events))
	for _, event := range events {
		transition, err := engine.Transition(event, nil)
		if err != nil {
			return err
		}
		transitions = append(transitions, transition)
	}
	if len(transitions) == 0 {
		return nil
	}
	_, err := s.recordTransitions(ctx, transitions)
	return err
}
