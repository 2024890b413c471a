package connectors

import (
	"context"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// begin starts the job of an attempt. What it is going to do is durable before it does it, and by what the connector knows the job is
// durable before the job counts as started. Whatever happens in between, the next call has the same key, so there is one job.
func (w *worker) begin(ctx context.Context, j *store.Job) (next, error) {
	assigned, err := w.assignment(ctx, j.UID)
	if err != nil {
		return next{}, err
	}
	if assigned == nil { // it has ended; the mirror is about to say so
		return next{pause: w.config.MinPoll}, w.store.Release(ctx, j.UID)
	}
	template := assigned.GetTask().GetSpec().GetTaskTemplate()
	request, err := w.request(ctx, j, assigned)
	secrets := secretsOf(template)
	if err == nil {
		request.Connection, err = w.connection(ctx, j, secrets, true)
	}
	if lost := failure.Of(err); lost != nil {
		return w.failed(ctx, j, assigned, lost, nil)
	}
	if err != nil {
		return next{}, err
	}
	failpoint.Here("connectors: before the intent")
	if waits, err := w.store.Intend(ctx, j, secrets); err != nil || !waits {
		return next{pause: w.config.MinPoll}, err
	}
	failpoint.Here("connectors: intent is durable")
	answer, err := call(ctx, w, "CreateTask", w.remote.jobs.CreateTask, request)
	if err != nil {
		return w.notStarted(ctx, j, assigned, err)
	}
	failpoint.Here("connectors: job is created")
	j.Secrets = secrets
	if size := len(answer.GetResourceMeta()); size > w.config.MaxMeta {
		j.Meta = answer.GetResourceMeta()
		return w.tooLarge(ctx, j, assigned, size)
	}
	if err := w.store.Created(ctx, j, answer.GetResourceMeta()); err != nil {
		return next{}, err
	}
	failpoint.Here("connectors: meta is durable")
	j.Stage, j.Meta, j.Failures = store.Created, answer.GetResourceMeta(), 0
	if j.BegunAt == nil {
		now := w.deps.Clock.Now()
		j.BegunAt = &now
	}
	return w.look(ctx, j)
}

// notStarted handles an error of CreateTask.
func (w *worker) notStarted(ctx context.Context, j *store.Job, assigned *enginev1.Assignment, err error) (next, error) {
	switch {
	case ctx.Err() != nil:
		return next{}, ctx.Err()
	case connect.CodeOf(err) == connect.CodeResourceExhausted && strings.Contains(err.Error(), "larger than max"):
		return w.failed(ctx, j, assigned, failure.New(failure.BadTaskSpecification, "the connector does not take as much data: %s", said(err)), nil)
	case away(err):
		return w.again(j, err), nil
	}
	return w.failed(ctx, j, assigned, failure.New(failure.JobNotStarted, "%s", said(err)), nil)
}

// tooLarge gives up a job whose name cannot be stored.
func (w *worker) tooLarge(ctx context.Context, j *store.Job, assigned *enginev1.Assignment, size int) (next, error) {
	if err := w.remove(ctx, j); err != nil {
		return next{}, fmt.Errorf("delete a job whose resource_meta has %d bytes: %w", size, err)
	}
	lost := failure.New(failure.JobNotStarted, "its resource_meta has %d bytes, and at most %d are allowed (connectors.maxMeta)", size, w.config.MaxMeta)
	lost.Recoverable = false
	return w.failed(ctx, j, assigned, lost, nil)
}

// remove has the connector delete a job.
func (w *worker) remove(ctx context.Context, j *store.Job) error {
	connection, err := w.connection(ctx, j, j.Secrets, false)
	if err != nil {
		return err
	}
	_, err = call(ctx, w, "DeleteTask", w.remote.jobs.DeleteTask, &connectorv2.DeleteTaskRequest{
		ResourceMeta: j.Meta, TaskCategory: category(j), Connection: connection,
	})
	if connect.CodeOf(err) == connect.CodeUnimplemented && connect.IsWireError(err) {
		return nil // it cannot delete jobs
	}
	return err
}
