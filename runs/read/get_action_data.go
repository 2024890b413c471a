package read

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/actiondata"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// RowReader reads one action; lists.Reader does.
type RowReader interface {
	ActionRow(ctx context.Context, id ident.Action) (*schema.Action, error)
}

// Data serves the inputs and outputs of actions. All fields are required.
type Data struct {
	Rows    RowReader
	Objects actiondata.Objects
	// MaxInline is the largest size of inputs or outputs in a response, in bytes.
	MaxInline int64
}

// GetActionData implements workflowconnect.RunServiceHandler. Inputs of an unfinished action may still be missing;
// missing inputs of a finished task return NotFound, which clients recognize by the word inputs.
func (d *Data) GetActionData(ctx context.Context, request *workflow.GetActionDataRequest) (*workflow.GetActionDataResponse, error) {
	row, err := d.Rows.ActionRow(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	response := &workflow.GetActionDataResponse{Inputs: &task.Inputs{}, Outputs: &task.Outputs{}}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		found, err := actiondata.Read(groupCtx, d.Objects, actiondata.InputsURI(row), response.GetInputs(), d.MaxInline)
		ended := state.Terminal(row.Phase)
		if err == nil && !found && ended && workflow.ActionType(row.ActionType) == workflow.ActionType_ACTION_TYPE_TASK {
			return rpc.NotFound("the inputs of action %s are no longer stored", row.Name)
		}
		return err
	})
	group.Go(func() error {
		_, err := actiondata.Read(groupCtx, d.Objects, protomap.OutputsURI(row), response.GetOutputs(), d.MaxInline)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return response, actiondata.AddSignal(row, response.GetOutputs())
}
