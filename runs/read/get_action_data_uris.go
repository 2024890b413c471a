package read

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/actiondata"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
)

// GetActionDataURIs implements workflowconnect.RunServiceHandler. Outputs are named only once they exist. The value
// of a condition is not in a file: it is in the details of the action.
func (d *Data) GetActionDataURIs(ctx context.Context, request *workflow.GetActionDataURIsRequest) (*workflow.GetActionDataURIsResponse, error) {
	row, err := d.Rows.ActionRow(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	inputs := actiondata.InputsURI(row)
	if inputs == "" && workflow.ActionType(row.ActionType) == workflow.ActionType_ACTION_TYPE_TASK {
		return nil, rpc.NotFound("no inputs are stored for action %s", row.Name)
	}
	return &workflow.GetActionDataURIsResponse{InputsUri: inputs, OutputsUri: protomap.OutputsURI(row)}, nil
}
