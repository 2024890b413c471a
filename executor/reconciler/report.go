package reconciler

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// answer is the result of a report.
type answer struct {
	attempts.Answer
	err error
}

// report sends transitions in the background. The reconciler is woken by the answer, and does nothing about the action
// until then.
func (r *Reconciler) report(task *v1.TaskAction, entry *entry, next *plan, transitions ...*enginev1.Transition) {
	r.addHappenings(entry, next, transitions)
	placement := task.Placement()
	for _, transition := range transitions {
		transition.Placement = &placement
	}
	entry.plan = next
	entry.mu.Lock()
	entry.reporting = true
	entry.mu.Unlock()
	r.work.Go(func() { r.send(task, entry, next, transitions) })
}

func (r *Reconciler) send(task *v1.TaskAction, entry *entry, next *plan, transitions []*enginev1.Transition) {
	given := &answer{}
	given.Answer, given.err = r.reporter.Send(r.lifetime, task.Spec.UID, next.queued(), transitions...)
	failpoint.Here("reconciler.after-report")
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
	entry.log.Told(next.toldOf, next.told)
	entry.log.Record(next.position.attempt, next.position.message)
	entry.acked, entry.ackedAt = next.position, r.deps.Clock.Now()
	if taken.Over {
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
	switch waiting := taken.Next; {
	case next.end:
		entry.finished = true
	case next.status == nil:
	case waiting == nil || waiting.Attempt != next.status.Attempt: // The owner of the TaskAction replaces it if the action is live.
		entry.finished = true
	default:
		entry.lost = append(entry.lost, entry.attempt)
		entry.status, entry.dirty = *next.status, true
		entry.status.UserFailures, entry.status.SystemFailures = waiting.UserFailures, waiting.SystemFailures
	}
	return 0
}

// queued is the attempt that a report queues; nil if it queues none.
func (p *plan) queued() *verdict.Count {
	if p.status == nil {
		return nil
	}
	return &verdict.Count{Attempt: p.status.Attempt, UserFailures: p.status.UserFailures, SystemFailures: p.status.SystemFailures}
}

// reportProbe repeats what is known, to learn whether the action is still live.
func (r *Reconciler) reportProbe(task *v1.TaskAction, entry *entry, attempt int32) {
	now := r.deps.Clock.Now()
	at := position{attempt: attempt, phase: common.ActionPhase_ACTION_PHASE_QUEUED}
	r.report(task, entry, &plan{position: at, probe: true}, &enginev1.Transition{Event: r.event(task, at, now)})
}
