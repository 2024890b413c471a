package reconciler

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// answer is the result of a report.
type answer struct {
	outcomes []enginev1.TransitionOutcome
	behind   bool // the action has gone on without this TaskAction
	err      error
}

// report sends transitions in the background. The reconciler is woken by the answer, and does nothing about the action
// until then.
func (r *Reconciler) report(task *v1.TaskAction, entry *entry, next *plan, transitions ...*enginev1.Transition) {
	entry.plan = next
	entry.mu.Lock()
	entry.reporting = true
	entry.mu.Unlock()
	r.work.Go(func() { r.send(task, entry, next, transitions) })
}

func (r *Reconciler) send(task *v1.TaskAction, entry *entry, next *plan, transitions []*enginev1.Transition) {
	given := &answer{}
	given.outcomes, given.err = r.deps.Sink.Record(r.lifetime, transitions)
	failpoint.Here("reconciler.after-report")
	if given.err == nil && next.status != nil && verdict.Stale(given.outcomes) {
		given.behind, given.err = r.recount(r.lifetime, task, next.status)
	}
	entry.mu.Lock()
	entry.reporting, entry.answer = false, given
	entry.mu.Unlock()
	r.wake(client.ObjectKeyFromObject(task))
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
	if verdict.Over(taken.outcomes) {
		if next.probe {
			r.repairedTask(ctx, driftOver, entry.adopted, task, next.position.attempt)
		}
		entry.finished = true
		return 0
	}
	if next.drift != "" {
		r.repairedTask(ctx, next.drift, false, task, entry.current(task))
	}
	if next.end || next.status != nil {
		r.traceAttempt(task, entry, next.position)
	}
	switch {
	case next.end, taken.behind: // If the action is live, the owner of the TaskAction replaces it.
		entry.finished = true
	case next.status != nil:
		entry.lost = append(entry.lost, entry.attempt)
		entry.status, entry.dirty = *next.status, true
	}
	return 0
}

// recount corrects the failure counts of the next attempt. Behind means that the action does not wait for it.
func (r *Reconciler) recount(ctx context.Context, task *v1.TaskAction, next *v1.TaskActionStatus) (behind bool, err error) {
	waiting, err := verdict.Recount(ctx, r.deps.Assignments, task.Spec.UID)
	switch {
	case err != nil:
		return false, err
	case waiting == nil || waiting.Attempt != next.Attempt:
		return true, nil
	}
	next.UserFailures, next.SystemFailures = waiting.UserFailures, waiting.SystemFailures
	return false, nil
}

// reportProbe repeats what is known, to learn whether the action is still live.
func (r *Reconciler) reportProbe(task *v1.TaskAction, entry *entry, attempt int32) {
	now := r.deps.Clock.Now()
	at := position{attempt: attempt, phase: common.ActionPhase_ACTION_PHASE_QUEUED}
	r.report(task, entry, &plan{position: at, probe: true}, &enginev1.Transition{Event: r.event(task, at, now)})
}
