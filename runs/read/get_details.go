package read

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

// DetailsReader reads actions with everything that is stored about them; lists.Reader does.
type DetailsReader interface {
	ActionDetails(ctx context.Context, id ident.Action) (*lists.Details, error)
	RunDetails(ctx context.Context, run ident.Run) (*lists.Details, error)
	Standing(ctx context.Context, id ident.Action) (*lists.Standing, error)
}

// Details serves the details of runs and actions, to clients and to watches. Both fields are required.
type Details struct {
	Rows  DetailsReader
	Waits Waits
}

// GetRunDetails implements workflowconnect.RunServiceHandler.
func (d *Details) GetRunDetails(ctx context.Context, request *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error) {
	details, err := d.RunDetails(ctx, ident.RunOf(request.GetRunId()))
	if err != nil {
		return nil, err
	}
	return &workflow.GetRunDetailsResponse{Details: details}, nil
}

// GetActionDetails implements workflowconnect.RunServiceHandler.
func (d *Details) GetActionDetails(ctx context.Context, request *workflow.GetActionDetailsRequest) (*workflow.GetActionDetailsResponse, error) {
	details, err := d.ActionDetails(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	return &workflow.GetActionDetailsResponse{Details: details}, nil
}

// ActionDetails reads the details of an action as every client sees them.
func (d *Details) ActionDetails(ctx context.Context, id ident.Action) (*workflow.ActionDetails, error) {
	stored, err := d.Rows.ActionDetails(ctx, id)
	if err != nil {
		return nil, err
	}
	details, err := protomap.Details(&stored.Action, stored.Spec, stored.Events)
	if err != nil {
		return nil, err
	}
	return details, d.tellWait(ctx, &stored.Action, details)
}

// RunDetails reads the details of a run: those of its root action, and the run spec as it was requested. That of a triggered
// run has its start time as well.
func (d *Details) RunDetails(ctx context.Context, run ident.Run) (*workflow.RunDetails, error) {
	stored, err := d.Rows.RunDetails(ctx, run)
	if err != nil {
		return nil, err
	}
	action, err := protomap.Details(&stored.Action, stored.Spec, stored.Events)
	if err != nil {
		return nil, err
	}
	if err := d.tellWait(ctx, &stored.Action, action); err != nil {
		return nil, err
	}
	var spec task.RunSpec
	if err := proto.Unmarshal(stored.RunSpec, &spec); err != nil {
		return nil, rpc.DataLoss(err, "the stored run spec of %s cannot be read", run)
	}
	keepStartTime(&spec, stored)
	return &workflow.RunDetails{RunSpec: &spec, Action: action}, nil
}

// keepStartTime adds the start time of a triggered run to its spec. Reruns and recoveries are created with a copy of the spec.
// An input of a triggered run may be its start time, such as the slot of a schedule, and they must have the same inputs. The
// specs of all runs of a trigger are stored once, without it.
func keepStartTime(spec *task.RunSpec, stored *lists.Details) {
	if spec.GetRunStartTime() == nil && stored.TriggerName != "" && stored.RunStartTime != nil {
		spec.RunStartTime = timestamppb.New(*stored.RunStartTime)
	}
}
