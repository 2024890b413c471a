package actions

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// queueHandler serves QueueService, for clients that do not know ActionsService.
type queueHandler struct{ svc *Service }

var _ workflowconnect.QueueServiceHandler = (*queueHandler)(nil)

// EnqueueAction implements QueueService as Enqueue of ActionsService. The subject is left out there, too.
func (h *queueHandler) EnqueueAction(ctx context.Context, r *workflow.EnqueueActionRequest) (*workflow.EnqueueActionResponse, error) {
	request := &workflow.RecordActionRequest{
		ActionId: r.GetActionId(),
		Parent:   r.GetParentActionName(),
		Group:    r.GetGroup(),
		InputUri: r.GetInputUri(),
	}
	switch spec := r.GetSpec().(type) {
	case *workflow.EnqueueActionRequest_Task:
		request.Spec = &workflow.RecordActionRequest_Task{Task: spec.Task}
	case *workflow.EnqueueActionRequest_Trace:
		request.Spec = &workflow.RecordActionRequest_Trace{Trace: spec.Trace}
	case *workflow.EnqueueActionRequest_Condition:
		request.Spec = &workflow.RecordActionRequest_Condition{Condition: spec.Condition}
	}
	if err := h.svc.enqueue(ctx, request); err != nil {
		return nil, err
	}
	return &workflow.EnqueueActionResponse{}, nil
}

// AbortQueuedAction implements QueueService as Abort of ActionsService.
func (h *queueHandler) AbortQueuedAction(ctx context.Context, r *workflow.AbortQueuedActionRequest) (*workflow.AbortQueuedActionResponse, error) {
	if err := h.svc.abort(ctx, r.GetActionId(), r.Reason, nil); err != nil {
		return nil, err
	}
	return &workflow.AbortQueuedActionResponse{}, nil
}

// AbortQueuedRun implements QueueService as AbortRun of RunService.
func (h *queueHandler) AbortQueuedRun(ctx context.Context, r *workflow.AbortQueuedRunRequest) (*workflow.AbortQueuedRunResponse, error) {
	if r.GetRunId() == nil {
		return nil, rpc.InvalidArgument("run_id", "is required")
	}
	ctx, cancel := context.WithTimeout(ctx, h.svc.config.CallTimeout)
	defer cancel()
	request := &workflow.AbortRunRequest{RunId: r.GetRunId(), Reason: r.Reason}
	if _, err := h.svc.runs.AbortRun(ctx, request); err != nil {
		return nil, err
	}
	return &workflow.AbortQueuedRunResponse{}, nil
}
