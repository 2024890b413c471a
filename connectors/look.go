package connectors

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// maxVersion is how many changes of its message a job may report within a phase.
const maxVersion = 100

// phases are those of jobs that have not ended.
var phases = map[core.TaskExecution_Phase]common.ActionPhase{
	core.TaskExecution_UNDEFINED:             common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES,
	core.TaskExecution_QUEUED:                common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES,
	core.TaskExecution_WAITING_FOR_RESOURCES: common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES,
	core.TaskExecution_INITIALIZING:          common.ActionPhase_ACTION_PHASE_INITIALIZING,
	core.TaskExecution_RUNNING:               common.ActionPhase_ACTION_PHASE_RUNNING,
}

// look asks the connector how a job is, and reports what is new.
func (w *worker) look(ctx context.Context, j *store.Job) (next, error) {
	if j.Dir == "" { // an earlier version requested the job
		assigned, over, err := w.live(ctx, j)
		if err != nil || assigned == nil {
			return over, err
		}
		j.Dir = attemptOf(j, assigned).Dir()
	}
	connection, err := w.connection(ctx, j, j.Secrets, false)
	if err != nil {
		return next{}, err
	}
	answer, err := call(ctx, w, "GetTask", w.remote.jobs.GetTask, &connectorv2.GetTaskRequest{
		ResourceMeta: j.Meta, TaskCategory: category(j), OutputPrefix: j.Dir, Connection: connection,
	}, connection)
	if phase := answer.GetResource().GetPhase(); err == nil && core.TaskExecution_Phase_name[int32(phase)] == "" {
		err = &phaseError{phase}
	}
	switch {
	case ctx.Err() != nil:
		return next{}, ctx.Err()
	case err != nil && waiting(err) != nil:
		answer = &connectorv2.GetTaskResponse{Resource: waiting(err)}
	case err != nil:
		return w.unanswered(ctx, j, err)
	}
	phase := max(phases[answer.GetResource().GetPhase()], common.ActionPhase(j.Phase))
	if _, runs := phases[answer.GetResource().GetPhase()]; runs && bytes.Equal(digest(phase, answer.GetResource()), j.Told) {
		return next{pause: w.pause(j)}, nil // the usual case: it needs nothing but the row
	}
	assigned, over, err := w.live(ctx, j)
	if err != nil || assigned == nil {
		return over, err
	}
	return w.found(ctx, j, assigned, answer.GetResource(), connection)
}

// live returns what is assigned. It is nil if the action has ended; then the second result is what follows.
func (w *worker) live(ctx context.Context, j *store.Job) (*enginev1.Assignment, next, error) {
	assigned, err := w.assignment(ctx, j.UID)
	if err == nil && assigned == nil { // the mirror is about to say so
		err = w.store.Release(ctx, j.UID)
	}
	return assigned, next{pause: w.config.MinPoll}, err
}

// unanswered handles an error of GetTask. A job about which the connector says nothing for too long is lost: before another attempt
// begins, the connector is asked to delete it.
func (w *worker) unanswered(ctx context.Context, j *store.Job, err error) (next, error) {
	large := tooLarge(err)
	switch {
	case !large && away(err):
		return w.again(j, err), nil
	case !large && j.Failures+1 < w.config.MaxErrors:
		return w.refused(j, err), nil
	}
	assigned, over, failed := w.live(ctx, j)
	if failed != nil || assigned == nil {
		return over, failed
	}
	w.giveUp(ctx, j)
	if ctx.Err() != nil {
		return next{}, ctx.Err()
	}
	lost := failure.New(failure.JobLost, "%s", said(err))
	if large {
		lost = failure.New(failure.JobFailed, "the connector's answer is too large: %s (connectors.maxAnswer); a job with large outputs writes them to the directory of its attempt", said(err))
	}
	return w.failed(ctx, j, assigned, lost, nil)
}

// found handles the state of a job.
func (w *worker) found(
	ctx context.Context, j *store.Job, assigned *enginev1.Assignment, resource *connectorv2.Resource, given *core.Connection,
) (next, error) {
	shown := w.remote.presentable(resource, given)
	if resource.GetPhase() != core.TaskExecution_QUEUED {
		w.asksForLog(ctx, j)
	}
	if _, runs := phases[resource.GetPhase()]; !runs {
		if err := w.store.Ended(ctx, j, w.logContext(j) != nil); err != nil {
			return next{}, err
		}
	}
	switch resource.GetPhase() {
	case core.TaskExecution_SUCCEEDED:
		return w.succeeded(ctx, j, assigned, resource.GetOutputs(), shown)
	case core.TaskExecution_FAILED, core.TaskExecution_RETRYABLE_FAILED:
		lost := failure.New(failure.JobFailed, "%s", shown.GetMessage())
		lost.Recoverable = resource.GetPhase() == core.TaskExecution_RETRYABLE_FAILED
		return w.judged(ctx, j, assigned, shown, lost)
	case core.TaskExecution_ABORTED:
		return w.failed(ctx, j, assigned, failure.New(failure.JobAborted, "%s", shown.GetMessage()), shown)
	}
	phase := max(phases[resource.GetPhase()], common.ActionPhase(j.Phase))
	told := digest(phase, resource)
	if phase == common.ActionPhase(j.Phase) {
		if j.Version++; j.Version > maxVersion {
			return next{pause: w.pause(j)}, nil
		}
	} else {
		j.Version = 0
	}
	event := w.event(j, assigned, phase, shown)
	if over, err := w.report(ctx, &enginev1.Transition{Event: event}); err != nil || over {
		return next{pause: w.config.MinPoll}, err
	}
	failpoint.Here("connectors.after-phase")
	j.Phase, j.Told = int16(phase), told //nolint:gosec // a phase has one digit or two
	limit := assigned.GetTask().GetSpec().GetTaskTemplate().GetMetadata().GetTimeout().AsDuration()
	return next{pause: w.pause(j)}, w.store.Told(ctx, j, phase == common.ActionPhase_ACTION_PHASE_RUNNING, limit)
}

// succeeded writes the outputs that the connector gives, and records the success. Other jobs have written theirs themselves,
// or have none.
func (w *worker) succeeded(
	ctx context.Context, j *store.Job, assigned *enginev1.Assignment, outputs *task.Outputs, shown *connectorv2.Resource,
) (next, error) {
	if outputs != nil {
		body, err := proto.Marshal(outputs)
		if err != nil {
			return next{}, fmt.Errorf("encode outputs: %w", err)
		}
		if err := w.deps.Store.WriteAll(ctx, attemptOf(j, assigned).Dir()+"/"+blobpath.OutputsFile, body); err != nil {
			return next{}, fmt.Errorf("write outputs: %w", err)
		}
		failpoint.Here("connectors.after-outputs")
	}
	return w.judged(ctx, j, assigned, shown, nil)
}

// judged ends an attempt by what its job wrote, as that of a process.
func (w *worker) judged(ctx context.Context, j *store.Job, assigned *enginev1.Assignment, resource *connectorv2.Resource, lost *failure.Failure) (next, error) {
	template, dir := assigned.GetTask().GetSpec().GetTaskTemplate(), attemptOf(j, assigned).Dir()
	lost, err := verdict.Of(ctx, w.deps.Store, template, dir, verdict.End{Lost: lost})
	if err != nil {
		return next{}, err
	}
	if lost != nil {
		if lost.Reason == failure.OutputsMissing {
			lost.Message = "the job succeeded without outputs: the connector gave none, and there is no " + dir + "/" + blobpath.OutputsFile
		}
		return w.failed(ctx, j, assigned, lost, resource)
	}
	outputs, err := attempts.Outputs(ctx, w.deps.Store, template, dir)
	if err != nil {
		return next{}, err
	}
	event := w.event(j, assigned, common.ActionPhase_ACTION_PHASE_SUCCEEDED, resource)
	event.Outputs = outputs
	if _, err := w.report(ctx, append(w.missedStart(j, assigned), &enginev1.Transition{Event: event})...); err != nil {
		return next{}, err
	}
	failpoint.Here("connectors.after-end")
	return done(), w.store.Done(ctx, j)
}

// digest is of what a report would say.
func digest(phase common.ActionPhase, resource *connectorv2.Resource) []byte {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\x00%s\x00", phase, resource.GetMessage())
	for _, link := range resource.GetLogLinks() {
		fmt.Fprintf(sum, "%s\x00%s\x00", link.GetName(), link.GetUri())
	}
	return sum.Sum(nil)
}
