package launch

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// planRecovery takes the action's result from the run being recovered, if that run has one of the same task and its
// outputs still exist. A client that names a source action itself gets the same treatment.
func (p *Planner) planRecovery(ctx context.Context, a *schema.Action, planned *plannedTask, run *runContext) error {
	found, err := p.recoverable(ctx, a, run)
	a.RecoveredFrom = nil // never trust the client's value
	if err != nil || found == nil || found.ActionType != a.ActionType || found.TaskName != a.TaskName || found.TaskType != a.TaskType {
		return err
	}
	if a.ParentName == nil {
		same, err := p.sameRoot(ctx, a, found)
		if err != nil || !same {
			return err
		}
	}
	if declaresOutputs(planned.spec) {
		there, err := p.Recoveries.there(ctx, outputsOf(found))
		if err != nil || !there {
			return err
		}
	}
	if a.RecoveredFrom, err = origin(run.ID, found); err != nil {
		return err
	}
	a.Phase = state.Recovered
	a.OutputURI, a.ReportURI = found.OutputURI, found.ReportURI
	return nil
}

func (p *Planner) recoverable(ctx context.Context, a *schema.Action, run *runContext) (*schema.Result, error) {
	if len(a.RecoveredFrom) == 0 {
		return p.Recoveries.result(ctx, run.Recovery, cmp.Or(a.Name, ident.RootAction), a.ParentName)
	}
	var given common.ActionIdentifier
	if err := proto.Unmarshal(a.RecoveredFrom, &given); err != nil {
		return nil, rpc.InvalidArgument("recovered_from", "cannot be read")
	}
	from := ident.ActionOf(&given)
	if from.Run.Project != run.ID.Project || from.Run.Domain != run.ID.Domain {
		return nil, rpc.InvalidArgument("recovered_from", "action %s is in another project or domain", from)
	}
	younger := run.RootID
	if younger == 0 {
		younger = notCreated
	}
	sources, err := p.Recoveries.from(ctx, from.Run, younger, nil)
	if err != nil || sources == nil {
		return nil, err
	}
	sources.sources = sources.sources[:1]
	results, err := p.Recoveries.Results.Results(ctx, sources.runIDs(), from.Name)
	if err != nil || len(results) == 0 || !good(results[0].Phase) {
		return nil, err
	}
	return &results[0], nil
}

// sameRoot reports whether a new run is the same call as the one it recovers: a run that succeeded has nothing to
// recover, unless the inputs or the task have changed.
func (p *Planner) sameRoot(ctx context.Context, a *schema.Action, found *schema.Result) (bool, error) {
	if string(a.SpecDigest) != string(found.SpecDigest) {
		return false, nil
	}
	return p.Recoveries.sameInputs(ctx, blobpath.InputsPath(a.InputURI), blobpath.InputsPath(found.InputURI))
}

// outputsOf is the file with the outputs of a result.
func outputsOf(found *schema.Result) string {
	return protomap.OutputsURI(&schema.Action{ActionType: found.ActionType, Phase: found.Phase, OutputURI: found.OutputURI})
}

// declaresOutputs reports whether a success of the task always has an outputs file.
func declaresOutputs(spec *task.TaskSpec) bool {
	return len(spec.GetTaskTemplate().GetInterface().GetOutputs().GetVariables()) > 0
}
