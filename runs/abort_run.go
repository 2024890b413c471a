package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// defaultAbortReason is stored when nobody gives one.
const defaultAbortReason = "aborted on request"

// AbortRun implements workflowconnect.RunServiceHandler. Aborting a run that has ended is no error.
func (h *runHandler) AbortRun(ctx context.Context, request *workflow.AbortRunRequest) (*workflow.AbortRunResponse, error) {
	if err := h.svc.abort(ctx, ident.RunOf(request.GetRunId()).Root(), request.GetReason()); err != nil {
		return nil, err
	}
	return &workflow.AbortRunResponse{}, nil
}

// AbortAction implements workflowconnect.RunServiceHandler: the action and everything below it.
func (h *runHandler) AbortAction(ctx context.Context, request *workflow.AbortActionRequest) (*workflow.AbortActionResponse, error) {
	if err := h.svc.abort(ctx, ident.ActionOf(request.GetActionId()), request.GetReason()); err != nil {
		return nil, err
	}
	return &workflow.AbortActionResponse{}, nil
}

func (s *Service) abort(ctx context.Context, action ident.Action, reason string) error {
	by, err := encodedCaller(ctx)
	if err != nil {
		return err
	}
	return s.writer.Abort(ctx, store.Abort{Action: action, Reason: firstOf(reason, defaultAbortReason), By: by})
}
