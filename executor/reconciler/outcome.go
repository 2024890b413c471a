package reconciler

import (
	"context"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// look returns the state of an attempt and, if it succeeded, where its outputs are.
func (r *Reconciler) look(ctx context.Context, entry *entry, attempt *plugin.Attempt) (plugin.State, *task.OutputReferences, error) {
	if why := entry.invalid; why != nil {
		return plugin.Lost(why), nil, nil
	}
	if spec := attempt.Task.Spec; spec.Begun && attempt.Number == spec.Attempt {
		// Its files are in its directory, and its process may still run: nothing else may run under its number.
		return plugin.Lost(failure.New(failure.DeletedExternally, "the TaskAction was deleted")), nil, nil
	}
	state, err := r.ask(ctx, attempt)
	if err != nil || r.keepWord(entry, attempt, state) {
		return state, nil, err
	}
	if state.Stopping && entry.followedAttempt != attempt.Number {
		entry.followedAttempt = attempt.Number
		r.followLogs(attempt, r.logsOf(ctx, attempt))
	}
	state, err = r.outcome(ctx, attempt, r.withOutcome(ctx, entry, attempt, r.withTimeouts(entry, attempt, state)))
	if err != nil || state.Phase != common.ActionPhase_ACTION_PHASE_SUCCEEDED {
		return state, nil, err
	}
	outputs, err := attempts.Outputs(ctx, r.deps.Store, attempt.Template, attempt.Dir)
	return state, outputs, err
}

// outcome judges the end of an attempt's process by what it wrote; see verdict.Of.
func (r *Reconciler) outcome(ctx context.Context, attempt *plugin.Attempt, state plugin.State) (plugin.State, error) {
	if state.Phase != common.ActionPhase_ACTION_PHASE_SUCCEEDED && (state.Settled || state.Failure == nil) {
		return state, nil
	}
	lost, err := verdict.Of(ctx, r.deps.Store, attempt.Template, attempt.Dir, verdict.End{
		Lost: state.Failure, Stopped: state.Stopped, Others: state.OthersFailed, ErrorDir: state.ErrorDir, NoDocument: state.NoDocument,
	})
	switch {
	case err != nil:
	case lost != nil:
		state.Phase, state.Failure = common.ActionPhase_ACTION_PHASE_FAILED, lost
	default:
		state.Phase, state.Failure = common.ActionPhase_ACTION_PHASE_SUCCEEDED, nil
	}
	return state, err
}
