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
	"github.com/flyte-binary/flyte-binary/internal/failpoint"
)

// answer is what the record said to a report.
type answer struct {
	outcomes []enginev1.TransitionOutcome
	err      error
}

// tell reports in the background. The reconciler is woken when the answer is there, and does nothing about the action
// until then.
func (r *Reconciler) tell(task *v1.TaskAction, entry *entry, next *plan, transitions ...*enginev1.Transition) {
	entry.plan = next
	entry.mu.Lock()
	entry.reporting = true
	entry.mu.Unlock()
	key := client.ObjectKeyFromObject(task)
	r.work.Go(func() { r.report(key, entry, transitions) })
}

func (r *Reconciler) report(key types.NamespacedName, entry *entry, transitions []*enginev1.Transition) {
	outcomes, err := r.deps.Sink.Record(r.lifetime, transitions)
	failpoint.Here("reconciler.after-report")
	entry.mu.Lock()
	entry.reporting, entry.answer = false, &answer{outcomes: outcomes, err: err}
	entry.mu.Unlock()
	r.wake(key)
}

// settle takes the answer to the last report and does what was planned for it. It tells how long to wait when there was
// none: everything is then looked at afresh, so that only the latest is told.
func (r *Reconciler) settle(ctx context.Context, task *v1.TaskAction, entry *entry) time.Duration {
	taken := entry.takeAnswer()
	if taken == nil {
		return 0
	}
	next := entry.plan
	entry.plan = nil
	if taken.err != nil {
		entry.errors++
		zerolog.Ctx(ctx).Warn().Err(taken.err).Msg("the record does not answer")
		return backoff(r.config.ErrorBackoff, r.config.MaxErrorBackoff, entry.errors)
	}
	entry.errors, entry.vetted = 0, true
	entry.told, entry.toldAt = next.told, r.deps.Clock.Now()
	if over(taken.outcomes) {
		if next.ask {
			r.noteTask(ctx, mendedOver, task, next.told.attempt)
		}
		entry.dismissed = true
		return 0
	}
	if next.mended != "" {
		r.noteTask(ctx, next.mended, task, entry.current(task))
	}
	switch {
	case next.end:
		entry.dismissed = true
	case next.status != nil:
		entry.lost = append(entry.lost, entry.attempt)
		entry.status, entry.dirty = *next.status, true
	}
	return 0
}

// over says that the record wants nothing more of the action.
func over(outcomes []enginev1.TransitionOutcome) bool {
	for _, outcome := range outcomes {
		switch outcome {
		case enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL, enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION:
			return true
		}
	}
	return false
}

// probe asks the record whether it still knows the action as live.
func (r *Reconciler) probe(task *v1.TaskAction, entry *entry, attempt int32) {
	now := r.deps.Clock.Now()
	at := position{attempt: attempt, phase: common.ActionPhase_ACTION_PHASE_QUEUED}
	r.tell(task, entry, &plan{told: at, ask: true}, &enginev1.Transition{Event: r.event(task, at, now)})
}
