package reconciler

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// lingering is what is known of a process that may still run after it wrote its outcome.
type lingering struct {
	attempt int32
	started time.Time
	next    time.Time     // when to look
	pause   time.Duration // after that look
	since   time.Time     // when the outcome was found; zero while there is none
}

// withOutcome ends an attempt whose process lingers; see attempts.Linger.
func (r *Reconciler) withOutcome(ctx context.Context, entry *entry, attempt *plugin.Attempt, state plugin.State) plugin.State {
	linger := attempts.Linger(r.config.Linger)
	if !linger.Holds(attempt.Template) || state.Phase != common.ActionPhase_ACTION_PHASE_RUNNING || state.StartedAt.IsZero() {
		return state
	}
	now, l := r.deps.Clock.Now(), &entry.lingering
	if l.attempt != attempt.Number || !l.started.Equal(state.StartedAt) {
		*l = lingering{attempt: attempt.Number, started: state.StartedAt, next: state.StartedAt.Add(r.config.Linger), pause: r.config.Linger}
		if l.next.Before(now) || l.next.Sub(now) > r.config.Linger { // after a restart, or by another clock: spread the looks
			l.next = now.Add(rand.N(r.config.Linger)) //nolint:gosec // spreads load
		}
	}
	if l.since.IsZero() && !l.next.After(now) {
		found, err := verdict.Written(ctx, r.deps.Store, attempt.Dir)
		switch {
		case err != nil:
			zerolog.Ctx(ctx).Warn().Err(err).Msg("checking the outputs of a running task failed; retrying")
		case found:
			l.since = now
		default:
			l.pause = linger.After(l.pause)
		}
		l.next = now.Add(l.pause)
	}
	due := l.next
	if !l.since.IsZero() {
		due = l.since.Add(r.config.Linger)
		state.Reason, state.Message = linger.Words()
	}
	if left := due.Sub(now); left > 0 {
		if state.Recheck == 0 || left < state.Recheck {
			state.Recheck = left
		}
		return state
	}
	state.Phase, state.EndedAt, state.Message = common.ActionPhase_ACTION_PHASE_SUCCEEDED, now, sentence.Say("its process was ended, since it had written its outcome long before")
	state.StillRuns = true
	return state
}
