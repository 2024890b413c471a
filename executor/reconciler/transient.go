package reconciler

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// reportAfter is the number of errors in a row after which users are shown why nothing happens; shorter outages and
// conflicts have passed by then.
const reportAfter = 4

// backOff handles an error of the API server or the object store: it costs no attempt. It returns the pause before the
// next try, which grows and varies.
func (r *Reconciler) backOff(ctx context.Context, task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, err error) time.Duration {
	entry.transientErrors++
	pause := backoff.After(r.config.ErrorBackoff, r.config.MaxErrorBackoff, entry.transientErrors)
	zerolog.Ctx(ctx).Warn().Err(err).Int("errors_in_a_row", entry.transientErrors).Stringer("pause", pause).Msg("reconcile error; backing off")
	if entry.transientErrors != reportAfter {
		return pause
	}
	at := position{attempt: attempt.Number, phase: common.ActionPhase_ACTION_PHASE_QUEUED}
	if entry.acked.attempt == at.attempt {
		at = entry.acked
	}
	at.version = r.nextVersion(at.version, task)
	event := r.event(task, at, r.eventTime(entry, at, r.deps.Clock.Now()))
	event.ClusterEvents = []*workflow.ClusterEvent{r.reporter.Warning(event.GetUpdatedTime().AsTime(), "ClusterUnavailable",
		sentence.Say("%v, next try in %s, further ones at most every %s; this does not use up an attempt", err, verdict.Round(pause), r.config.MaxErrorBackoff))}
	r.report(task, entry, &plan{position: at}, &enginev1.Transition{Event: event})
	return pause
}
