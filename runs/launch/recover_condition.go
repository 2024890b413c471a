package launch

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// recoverCondition takes the value that a condition got in the run that is recovered.
func (r *Recorder) recoverCondition(ctx context.Context, id ident.Action, condition *workflow.ConditionAction, a *schema.Action) error {
	a.RecoveredFrom = nil
	run, err := r.Contexts.get(ctx, id.Run)
	if err != nil || run.Recovery == nil {
		return err
	}
	found, err := r.Planner.Recoveries.result(ctx, run.Recovery, id.Name, a.ParentName)
	if err != nil || found == nil || found.ActionType != a.ActionType || found.TaskName != condition.GetName() || len(found.Signal) == 0 {
		return err
	}
	var signal workflow.SignalInfo
	if err := proto.Unmarshal(found.Signal, &signal); err != nil {
		return rpc.DataLoss(err, "the stored value of condition %s of run %s cannot be read", found.Name, found.RunName)
	}
	if protomap.SimpleType(signal.GetOutput()) != condition.GetType().GetSimple() {
		return nil // the condition has changed
	}
	if a.RecoveredFrom, err = origin(run.ID, found); err != nil {
		return err
	}
	a.Phase, a.Signal = state.Recovered, found.Signal
	return nil
}
