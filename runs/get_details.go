package runs

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/view"
)

// GetRunDetails implements workflowconnect.RunServiceHandler.
func (h *runHandler) GetRunDetails(ctx context.Context, request *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error) {
	details, err := h.svc.runDetails(ctx, ident.RunOf(request.GetRunId()))
	if err != nil {
		return nil, err
	}
	return &workflow.GetRunDetailsResponse{Details: details}, nil
}

// GetActionDetails implements workflowconnect.RunServiceHandler.
func (h *runHandler) GetActionDetails(ctx context.Context, request *workflow.GetActionDetailsRequest) (*workflow.GetActionDetailsResponse, error) {
	details, err := h.svc.actionDetails(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	return &workflow.GetActionDetailsResponse{Details: details}, nil
}

// actionDetails reads the details of an action as every client sees them.
func (s *Service) actionDetails(ctx context.Context, id ident.Action) (*workflow.ActionDetails, error) {
	stored, err := s.lists.ActionDetails(ctx, id)
	if err != nil {
		return nil, err
	}
	details, err := view.Details(&stored.Action, stored.Spec, stored.Events)
	if err != nil {
		return nil, err
	}
	return details, s.tellWait(ctx, &stored.Action, details)
}

// runDetails reads the details of a run: those of its root action, and the run spec as it was requested.
func (s *Service) runDetails(ctx context.Context, run ident.Run) (*workflow.RunDetails, error) {
	stored, err := s.lists.RunDetails(ctx, run)
	if err != nil {
		return nil, err
	}
	action, err := view.Details(&stored.Action, stored.Spec, stored.Events)
	if err != nil {
		return nil, err
	}
	if err := s.tellWait(ctx, &stored.Action, action); err != nil {
		return nil, err
	}
	var spec task.RunSpec
	if err := proto.Unmarshal(stored.RunSpec, &spec); err != nil {
		return nil, rpc.DataLoss(err, "the stored run spec of %s cannot be read", run)
	}
	return &workflow.RunDetails{RunSpec: &spec, Action: action}, nil
}
