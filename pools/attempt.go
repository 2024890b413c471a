package pools

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/timelimit"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// end records how an attempt ended, whose process is gone: why it was lost, or nil if it exited with 0 or may have succeeded.
// Then its worker has it no more, and the claimant gets what its slot is free for. It can be repeated: everything but the first
// time changes nothing.
func (h *handler) end(ctx context.Context, a *store.Action, lost *failure.Failure, endedAt time.Time, claim store.Claimant) ([]store.Action, error) {
	if a.Stop == store.Released {
		return h.writer.Done(ctx, a, claim) // the action has ended otherwise
	}
	assigned, err := h.assignment(ctx, a.UID)
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
	_, ended := span(a, at, h.deps.Clock.Now())
	event := h.event(a, assigned, common.ActionPhase_ACTION_PHASE_SUCCEEDED, ended)
	event.Outputs = &task.OutputReferences{OutputUri: dir + "/" + blobpath.OutputsFile}
	if assigned.GetTask().GetSpec().GetTaskTemplate().GetMetadata().GetGeneratesDeck().GetValue() {
		uri := dir + "/" + blobpath.ReportFile
		written, err := verdict.Exists(ctx, h.deps.Store, uri)
		if err != nil {
			return err
		}
		if written {
			event.Outputs.ReportUri = uri
		}
	}
	return h.record(ctx, append(h.missedStart(a, assigned, at), &enginev1.Transition{Event: event})...)
}

// failed records a lost attempt: in one call with the next one, so that nobody takes a failure that is not final for the end.
func (h *handler) failed(
	ctx context.Context, a *store.Action, assigned *enginev1.Assignment, lost *failure.Failure, at time.Time, claim store.Claimant,
) ([]store.Action, error) {
	counted := verdict.Count{Attempt: a.Attempt, UserFailures: a.UserFailures, SystemFailures: a.SystemFailures}
	budget := verdict.Budget{
		MaxSystemFailures: h.config.MaxSystemFailures, SystemBackoff: h.config.SystemBackoff, MaxSystemBackoff: h.config.MaxSystemBackoff,
	}
	retry, lost := budget.Next(counted, assigned.GetTask().GetSpec().GetTaskTemplate(), lost)
	phase := common.ActionPhase_ACTION_PHASE_FAILED
	if lost.TimedOut() {
		phase = common.ActionPhase_ACTION_PHASE_TIMED_OUT
	}
	_, ended := span(a, at, h.deps.Clock.Now())
	transitions := append(h.missedStart(a, assigned, at), verdict.Transition(h.event(a, assigned, phase, ended), lost))
	if retry == nil {
		if err := h.record(ctx, transitions...); err != nil {
			return nil, err
		}
		return h.writer.Done(ctx, a, claim)
	}
	next := attemptOf(a, retry.Count)
	now := h.deps.Clock.Now()
	queued := h.event(&next, assigned, common.ActionPhase_ACTION_PHASE_QUEUED, now)
	queued.ClusterEvents = []*workflow.ClusterEvent{{
		OccurredAt: timestamppb.New(now), Reason: lost.Code, Message: retry.Message, Type: workflow.ClusterEvent_TYPE_WARNING,
		SourceComponent: source, Count: 1,
	}}
	transitions = append(transitions, &enginev1.Transition{Event: queued, NotBefore: timestamppb.New(now.Add(retry.Pause))})
	outcomes, err := h.deps.Sink.Record(ctx, transitions)
	switch {
	case err != nil:
		return nil, err
	case verdict.Over(outcomes):
		return h.writer.Done(ctx, a, claim)
	case verdict.Stale(outcomes):
		waiting, err := verdict.Recount(ctx, h.deps.Engine, a.UID)
		if err != nil {
			return nil, err
		}
		if waiting == nil {
			return h.writer.Done(ctx, a, claim) // If it is live, the keeper offers it again.
		}
		next = attemptOf(a, *waiting)
	}
	return h.writer.Retry(ctx, a, next, retry.Pause, claim)
}

// attemptOf is the row of an action with another attempt.
func attemptOf(a *store.Action, count verdict.Count) store.Action {
	next := *a
	next.Attempt, next.UserFailures, next.SystemFailures = count.Attempt, count.UserFailures, count.SystemFailures
	return next
}

// source is the component that the events of workers name.
const source = "worker"

// record records transitions in order, whatever becomes of them.
func (h *handler) record(ctx context.Context, transitions ...*enginev1.Transition) error {
	_, err := h.deps.Sink.Record(ctx, transitions)
	return err
}

// missedStart is the start of the process, if there was one: its end may be seen first, as happens with short ones. endedAt is when it
// ended, or zero.
func (h *handler) missedStart(a *store.Action, assigned *enginev1.Assignment, endedAt time.Time) []*enginev1.Transition {
	if a.BegunAt == nil {
		return nil
	}
	began, _ := span(a, h.deps.Clock.Now(), endedAt)
	return []*enginev1.Transition{{Event: h.event(a, assigned, common.ActionPhase_ACTION_PHASE_RUNNING, began)}}
}

// event is the event of a position. Times are never later than now: the clock of a worker may be ahead.
func (h *handler) event(a *store.Action, assigned *enginev1.Assignment, phase common.ActionPhase, at time.Time) *workflow.ActionEvent {
	now := h.deps.Clock.Now()
	if at.IsZero() || at.After(now) {
		at = now
	}
	event := &workflow.ActionEvent{
		Id: a.Action.Proto(), Attempt: uint32(a.Attempt), Phase: phase, UpdatedTime: timestamppb.New(at), ReportedTime: timestamppb.New(now), //nolint:gosec // from 1
		Cluster: assigned.GetCluster(),
	}
	if a.Worker != "" && phase != common.ActionPhase_ACTION_PHASE_QUEUED {
		event.ClusterEvents = []*workflow.ClusterEvent{{
			OccurredAt: event.GetUpdatedTime(), Reason: "Worker", Message: "worker " + a.Worker, Type: workflow.ClusterEvent_TYPE_NORMAL,
			SourceComponent: source, Count: 1,
		}}
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
