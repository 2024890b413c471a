package actions

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Signal implements ActionsService: it gives a waiting condition its value. The runs service decides whether the action is
// a condition, whether it still waits and whether the value has its type.
func (h *actionsHandler) Signal(ctx context.Context, r *actions.SignalRequest) (*actions.SignalResponse, error) {
	if r.GetActionId() == nil {
		return nil, rpc.InvalidArgument("action_id", "is required")
	}
	switch r.GetValue().GetScalar().GetPrimitive().GetValue().(type) {
	case *core.Primitive_Boolean, *core.Primitive_Integer, *core.Primitive_FloatValue, *core.Primitive_StringValue:
	default:
		return nil, rpc.InvalidArgument("value", "must be a boolean, an integer, a float or a string")
	}
	err := h.svc.update(ctx, &workflow.UpdateActionStatusRequest{
		ActionId: r.GetActionId(),
		// A condition has one attempt.
		Status:    &workflow.ActionStatus{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED, Attempts: 1},
		Output:    r.GetValue(),
		Principal: r.GetSignalledBy(),
	})
	if err != nil {
		return nil, err
	}
	return &actions.SignalResponse{}, nil
}
