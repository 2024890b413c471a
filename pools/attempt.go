package pools

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/timelimit"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// end records how an attempt ended, whose process is gone: why it was lost, or nil if it exited with 0 or may have succeeded.
// Then its worker no longer has it, and the claimant gets what its slot is free for. It can be repeated: everything but the first
// time changes nothing.
func (h *handler) end(ctx context.Context, a *store.Action, lost *failure.Failure, endedAt time.Time, claim store.Claimant) ([]store.Action, error) {
	if a.Stop == store.Released {
		return h.writer.Done(ctx, a, claim) // the action has ended otherwise
	}
	assigned, err := h.assignment(ctx, a)
	if err != nil {
		return nil, err
	}
	if assigned == nil {
		return h.writer.Done(ctx, a, claim)
	}
	template := assigned.GetTask().GetSpec().GetTaskTemplate()
	dir := blobpath.AttemptDir(assigned.GetRunOutputBase(), a.Action.Name, uint32(a.Attempt)) //nolint:gosec // from 1
	if a.Stop == store.Written {
		lost = nil // what it wrote counts, not how it was ended
	}
	// The time limit is the reason, whatever the process did once it was asked to stop.
	if a.Stop == store.Overtime {
		lost = overtime(template)
	} else if lost, err = verdict.Of(ctx, h.deps.Store, template, dir, verdict.End{Lost: lost}); err != nil {
		return nil, err
	}
	if lost == nil {
		if err := h.succeeded(ctx, a, assigned, dir, endedAt); err != nil {
			return nil, err
		}
		return h.writer.Done(ctx, a, claim)
	}
	return h.failed(ctx, a, assigned, lost, endedAt, claim)
}

func overtime(template *core.TaskTemplate) *failure.Failure {
	limit := template.GetMetadata().GetTimeout().AsDuration()
	return failure.OverTime(failure.RuntimeExceeded, timelimit.Runtime.Message(limit))
}

// succeeded records a success.
func (h *handler) succeeded(ctx context.Context, a *store.Action, assigned *enginev1.Assignment, dir string, at time.Time) error {
	outputs, err := attempts.Outputs(ctx, h.deps.Store, assigned.GetTask().GetSpec().GetTaskTemplate(), dir)
	if err != nil {
		return err
	}
	_, ended := span(a, at, h.deps.Clock.Now())
	event := h.event(a, assigned, common.ActionPhase_ACTION_PHASE_SUCCEEDED, ended)
	event.Outputs = outputs
	return h.record(ctx, append(h.missedStart(a, assigned, at), &enginev1.Transition{Event: event})...)
}

// failed records a lost attempt, together with the next one.
func (h *handler) failed(
	ctx context.Context, a *store.Action, assigned *enginev1.Assignment, lost *failure.Failure, at time.Time, claim store.Claimant,
) ([]store.Action, error) {
	counted := verdict.Count{Attempt: a.Attempt, UserFailures: a.UserFailures, SystemFailures: a.SystemFailures}
	loss := h.reporter.Lose(counted, assigned.GetTask().GetSpec().GetTaskTemplate(), lost)
	now := h.deps.Clock.Now()
	_, until := span(a, at, now)
	ended := verdict.Transition(h.event(a, assigned, loss.Phase(), until), loss.Failure)
	transitions := append(h.missedStart(a, assigned, at), ended)
	var next *verdict.Count
	if loss.Next != nil {
		next = &loss.Next.Count
		transitions = append(transitions, h.reporter.Queued(ended.GetEvent(), loss, now))
	}
	answer, err := h.reporter.Send(ctx, a.UID, next, transitions...)
	if err != nil {
		return nil, err
	}
	if answer.Next == nil { // If the action is live, the keeper offers it again.
		return h.writer.Done(ctx, a, claim)
	}
	return h.writer.Retry(ctx, a, attemptOf(a, *answer.Next), loss.Next.Pause, claim)
}

// attemptOf is the row of an action with another attempt.
func attemptOf(a *store.Action, count verdict.Count) store.Action {
	next := *a
	next.Attempt, next.UserFailures, next.SystemFailures = count.Attempt, count.UserFailures, count.SystemFailures
	return next
}

// record records transitions in order, whatever their outcome.
func (h *handler) record(ctx context.Context, transitions ...*enginev1.Transition) error {
	_, err := h.reporter.Send(ctx, 0, nil, transitions...)
	return err
}

// missedStart is the start of the process, if there was one: its end may be seen first, as happens with short ones. endedAt is when it
// ended, or zero.
func (h *handler) missedStart(a *store.Action, assigned *enginev1.Assignment, endedAt time.Time) []*enginev1.Transition {
	if a.BegunAt == nil {
		return nil
	}
	began, _ := span(a, endedAt, h.deps.Clock.Now())
	return []*enginev1.Transition{{Event: h.event(a, assigned, common.ActionPhase_ACTION_PHASE_RUNNING, began)}}
}

// event is the event of a position. Times are never later than now: the clock of a worker may be ahead.
func (h *handler) event(a *store.Action, assigned *enginev1.Assignment, phase common.ActionPhase, at time.Time) *workflow.ActionEvent {
	now := h.deps.Clock.Now()
	if at.IsZero() || at.After(now) {
		at = now
	}
	event := h.reporter.Event(attempts.Position{Action: a.Action, Cluster: assigned.GetCluster(), Attempt: a.Attempt, Phase: phase}, at)
	if a.Worker != "" {
		event.ClusterEvents = []*workflow.ClusterEvent{h.reporter.Note(at, "Worker", sentence.Say("worker %s", a.Worker))}
		if a.Start.Slow != "" && phase == common.ActionPhase_ACTION_PHASE_RUNNING {
			event.ClusterEvents = append(event.ClusterEvents, h.reporter.Note(at, "SlowStart", sentence.Say("the process had to load its code itself: %s", a.Start.Slow)))
		}
		// Before a worker has the attempt, there is no log.
		event.LogContext = logContext(a.Worker)
	}
	return event
}

// logContext names the log of an attempt: the worker stores it, so it is in no namespace of a cluster.
func logContext(worker string) *core.LogContext {
	pod := "worker-" + worker
	return &core.LogContext{PrimaryPodName: pod, Pods: []*core.PodLogContext{{
		PodName: pod, PrimaryContainerName: logName, Containers: []*core.ContainerContext{{ContainerName: logName}},
	}}}
}
