package reconciler

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// tellAfter is after how many errors in a row people are told why nothing happens; conflicts and blinks are over before.
const tellAfter = 4

// stumble is about an error of the API server or the object store: it costs nobody an attempt, and the next try comes
// after a pause that grows and varies. It answers that pause.
func (r *Reconciler) stumble(ctx context.Context, task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, err error) time.Duration {
	entry.stumbles++
	pause := backoff(r.config.ErrorBackoff, r.config.MaxErrorBackoff, entry.stumbles)
	zerolog.Ctx(ctx).Warn().Err(err).Int("in_a_row", entry.stumbles).Stringer("pause", pause).Msg("an attempt cannot be looked after")
	if entry.stumbles != tellAfter {
		return pause
	}
	at := position{attempt: attempt.Number, phase: common.ActionPhase_ACTION_PHASE_QUEUED}
	if entry.told.attempt == at.attempt {
		at = entry.told
	}
	at.version = r.nextVersion(at.version, task)
	event := r.event(task, at, r.precise(entry, r.deps.Clock.Now()))
	event.ClusterEvents = []*workflow.ClusterEvent{happening(event.GetUpdatedTime().AsTime(), "ClusterUnavailable",
		fmt.Sprintf("%v, next try in %s, further ones at most every %s; it costs no attempt", err, round(pause), r.config.MaxErrorBackoff))}
	r.tell(task, entry, &plan{told: at}, &enginev1.Transition{Event: event})
	return pause
}
