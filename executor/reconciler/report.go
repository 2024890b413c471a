package reconciler

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/backoff"
	"github.com/flyte-binary/flyte-binary/internal/failpoint"
)

// answer is the result of a report.
type answer struct {
	outcomes []enginev1.TransitionOutcome
	err      error
}

// report sends transitions in the background. The reconciler is woken by the answer, and does nothing about the action
// until then.
func (r *Reconciler) report(task *v1.TaskAction, entry *entry, next *plan, transitions ...*enginev1.Transition) {
	entry.plan = next
	entry.mu.Lock()
	entry.reporting = true
	entry.mu.Unlock()
	key := client.ObjectKeyFromObject(task)
	r.work.Go(func() { r.send(key, entry, transitions) })
}

func (r *Reconciler) send(key types.NamespacedName, entry *entry, transitions []*enginev1.Transition) {
	outcomes, err := r.deps.Sink.Record(r.lifetime, transitions)
	failpoint.Here("reconciler.after-report")
	entry.mu.Lock()
	entry.reporting, entry.answer = false, &answer{outcomes: outcomes, err: err}
	entry.mu.Unlock()
	r.wake(key)
}

// applyAnswer takes the answer to the last report and carries out the plan for it. If the report failed, it returns how
// long to wait: then the attempt is looked at again, so that only its latest state is reported.
func (r *Reconciler) applyAnswer(ctx context.Context, task *v1.TaskAction, entry *entry) time.Duration {
	taken := entry.takeAnswer()
	if taken == nil {
		return 0
	}
	next := entry.plan
	entry.plan = nil
	if taken.err != nil {
		entry.reportErrors++
		zerolog.Ctx(ctx).Warn().Err(taken.err).Msg("recording transitions failed; retrying")
		return backoff.After(r.config.ErrorBackoff, r.config.MaxErrorBackoff, entry.reportErrors)
	}
	entry.reportErrors, entry.confirmedLive = 0, true
	entry.acked, entry.ackedAt = next.position, r.deps.Clock.Now()
	if isOver(taken.outcomes) {
		if next.probe {
			r.repairedTask(ctx, driftOver, task, next.position.attempt)
		}
		entry.finished = true
		return 0
	}
	if next.drift != "" {
		r.repairedTask(ctx, next.drift, task, entry.current(task))
	}
	if next.end || next.status != nil {
		r.traceAttempt(task, entry, next.position)
	}
	switch {
	case next.end:
		entry.finished = true
	case next.status != nil:
		entry.lost = append(entry.lost, entry.attempt)
		entry.status, entry.dirty = *next.status, true
	}
	return 0
}

// isOver reports whether the action is no longer live.
func isOver(outcomes []enginev1.TransitionOutcome) bool {
	for _, outcome := range outcomes {
		switch outcome {
		case enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL, enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION:
			return true
		}
	}
	return false
}

// reportProbe repeats what is known, to learn whether the action is still live.
func (r *Reconciler) reportProbe(task *v1.TaskAction, entry *entry, attempt int32) {
	now := r.deps.Clock.Now()
	at := position{attempt: attempt, phase: common.ActionPhase_ACTION_PHASE_QUEUED}
	r.report(task, entry, &plan{position: at, probe: true}, &enginev1.Transition{Event: r.event(task, at, now)})
}
