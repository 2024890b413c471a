package reconciler

import (
	"context"

	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// outcome judges the end of an attempt's process by what it wrote; see verdict.Of.
func (r *Reconciler) outcome(ctx context.Context, attempt *plugin.Attempt, state plugin.State) (plugin.State, error) {
	if state.Phase != common.ActionPhase_ACTION_PHASE_SUCCEEDED && (state.Settled || state.Failure == nil) {
		return state, nil
	}
	lost, err := verdict.Of(ctx, r.deps.Store, attempt.Template, attempt.Dir, verdict.End{Lost: state.Failure, Stopped: state.Stopped})
	switch {
	case err != nil:
	case lost != nil:
		state.Phase, state.Failure = common.ActionPhase_ACTION_PHASE_FAILED, lost
	default:
		state.Phase, state.Failure = common.ActionPhase_ACTION_PHASE_SUCCEEDED, nil
	}
	return state, err
}
