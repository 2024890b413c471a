package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/layout"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/view"
)

// GetActionDataURIs implements workflowconnect.RunServiceHandler. Outputs are named only once they are there. The value
// of a condition lies in no file: it is in the details of the action.
func (h *runHandler) GetActionDataURIs(ctx context.Context, request *workflow.GetActionDataURIsRequest) (*workflow.GetActionDataURIsResponse, error) {
	row, err := h.svc.lists.ActionRow(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	inputs := inputsURI(row)
	if inputs == "" && workflow.ActionType(row.ActionType) == workflow.ActionType_ACTION_TYPE_TASK {
		return nil, rpc.NotFound("no inputs are stored for action %s", row.Name)
	}
	return &workflow.GetActionDataURIsResponse{InputsUri: inputs, OutputsUri: view.OutputsURI(row)}, nil
}

func inputsURI(row *store.Action) string {
	if row.InputURI == "" {
		return ""
	}
	return layout.InputsPath(row.InputURI)
}
