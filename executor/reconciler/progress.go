package reconciler

import (
	"context"
	"math"
	"time"

	"github.com/rs/zerolog"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/layout"
)

// progress tells of an attempt that lives, if there is news. Without news the record is asked from time to time, to find
// out that it has given the action up.
func (r *Reconciler) progress(task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, state plugin.State) {
	r.noteStatus(task, entry, attempt, state)
	if state.Phase == common.ActionPhase_ACTION_PHASE_QUEUED {
		return // The record knows that.
	}
	at, told := position{attempt: attempt.Number, phase: state.Phase, news: news(state)}, entry.told
	now := r.deps.Clock.Now()
	ask := false
	if told.attempt == at.attempt {
		switch {
		case told.phase > at.phase:
			return // A cache that is behind, or a container that stumbled; phases do not go back.
		case told.phase == at.phase && told.news == at.news:
			if now.Sub(entry.toldAt) < r.config.Resync {
				return
			}
			at.version, ask = told.version, true
		case told.phase == at.phase:
			at.version = r.nextVersion(told.version, task)
		}
	}
	when := now
	if state.Phase == common.ActionPhase_ACTION_PHASE_RUNNING && told.phase < state.Phase {
		when = state.StartedAt
	}
	event := r.observed(task, at, r.precise(entry, when), state)
	r.tell(task, entry, &plan{told: at, ask: ask}, &enginev1.Transition{Event: event})
}

// nextVersion grows with each observation of a phase and, since it is at least the age of the TaskAction in seconds, over
// restarts too.
func (r *Reconciler) nextVersion(last uint32, task *v1.TaskAction) uint32 {
	age := r.deps.Clock.Now().Sub(task.CreationTimestamp.Time) / time.Second
	return max(last+1, uint32(min(max(age, 0), math.MaxInt32))) //nolint:gosec // bounded
}

// succeed tells of a good end.
func (r *Reconciler) succeed(ctx context.Context, taskAction *v1.TaskAction, entry *entry, attempt *plugin.Attempt, state plugin.State) {
	transitions := r.missedStart(taskAction, entry, attempt, state)
	at := position{attempt: attempt.Number, phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	event := r.observed(taskAction, at, r.precise(entry, state.EndedAt), state)
	event.Outputs = &task.OutputReferences{OutputUri: attempt.Dir + "/" + layout.OutputsFile, ReportUri: r.reportURI(ctx, attempt)}
	r.end(entry)
	r.tell(taskAction, entry, &plan{told: at, end: true}, append(transitions, &enginev1.Transition{Event: event})...)
}

// missedStart is the start of a process whose end is seen first, as it happens with short ones.
func (r *Reconciler) missedStart(task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, state plugin.State) []*enginev1.Transition {
	running := common.ActionPhase_ACTION_PHASE_RUNNING
	if state.StartedAt.IsZero() || (entry.told.attempt == attempt.Number && entry.told.phase >= running) {
		return nil
	}
	at := position{attempt: attempt.Number, phase: running}
	started := state
	started.Message, started.Reason = "", ""
	return []*enginev1.Transition{{Event: r.observed(task, at, r.precise(entry, state.StartedAt), started)}}
}

// reportURI is where the report of the attempt lies, if its task makes one and it did.
func (r *Reconciler) reportURI(ctx context.Context, attempt *plugin.Attempt) string {
	if !attempt.Template.GetMetadata().GetGeneratesDeck().GetValue() {
		return ""
	}
	uri := attempt.Dir + "/" + layout.ReportFile
	written, err := r.exists(ctx, uri)
	if err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("look for the report")
	}
	if !written {
		return ""
	}
	return uri
}
