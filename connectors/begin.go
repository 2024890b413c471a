package connectors

import (
	"bytes"
	"context"
	"fmt"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

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
	token, err := w.token(ctx, j, assigned)
	if err != nil {
		return next{}, err
	}
	request, err := w.request(ctx, j, assigned, token)
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
	j.Dir = attemptOf(j, assigned).Dir()
	failpoint.Here("connectors.before-intent")
	if waits, err := w.store.Intend(ctx, j, secrets); err != nil || !waits {
		return next{pause: w.config.MinPoll}, err
	}
	failpoint.Here("connectors.after-intent")
	answer, err := call(ctx, w, "CreateTask", w.remote.jobs.CreateTask, request, request.GetConnection())
	if err != nil {
		return w.notStarted(ctx, j, assigned, err)
	}
	failpoint.Here("connectors.after-create")
	j.Secrets = secrets
	j.Meta = answer.GetResourceMeta()
	if size := len(j.Meta); size > w.config.MaxMeta {
		return w.unnamed(ctx, j, assigned, fmt.Sprintf("has %d bytes, and at most %d are allowed (connectors.maxMeta)", size, w.config.MaxMeta))
	}
	if token != "" && bytes.Contains(j.Meta, []byte(token)) {
		return w.unnamed(ctx, j, assigned, "has the token of the attempt, which is not stored; the connector must leave it out")
	}
	ours, err := w.store.Created(ctx, j, j.Meta)
	if err != nil {
		return next{}, err
	}
	if !ours {
		return w.second(ctx, j)
	}
	failpoint.Here("connectors.after-meta")
	return next{}, nil // it is looked at in a step of its own, which takes the place of a look
}

// notStarted handles an error of CreateTask.
func (w *worker) notStarted(ctx context.Context, j *store.Job, assigned *enginev1.Assignment, err error) (next, error) {
	switch {
	case ctx.Err() != nil:
		return next{}, ctx.Err()
	case tooLarge(err):
		return w.failed(ctx, j, assigned, failure.New(failure.BadTaskSpecification, "the connector does not take as much data: %s", said(err)), nil)
	case away(err):
		return w.again(j, err), nil
	}
	return w.failed(ctx, j, assigned, failure.New(failure.JobNotStarted, "%s", said(err)), nil)
}

// unnamed gives up a job whose name cannot be stored. If it cannot be deleted now, it cannot be deleted later.
func (w *worker) unnamed(ctx context.Context, j *store.Job, assigned *enginev1.Assignment, why string) (next, error) {
	w.giveUp(ctx, j)
	lost := failure.New(failure.JobNotStarted, "its resource_meta %s", why)
	lost.Recoverable = false
	return w.failed(ctx, j, assigned, lost, nil)
}

// second handles the answer to a request whose attempt has another job by now, or no longer has one: this process was stopped for so
// long that another one took over. A connector that heeds the key has given both the same job.
func (w *worker) second(ctx context.Context, j *store.Job) (next, error) {
	standing, err := w.store.Standing(ctx, j.UID)
	if err != nil {
		return next{}, err
	}
	if standing == nil || standing.Job.Attempt != j.Attempt || !bytes.Equal(standing.Job.Meta, j.Meta) {
		w.giveUp(ctx, j)
	}
	return done(), nil
}

// giveUp has the connector delete a job that no longer counts. If that fails, a person has to do it.
func (w *worker) giveUp(ctx context.Context, j *store.Job) {
	if err := w.remove(ctx, j); err != nil && ctx.Err() == nil {
		zerolog.Ctx(ctx).Error().Err(err).Stringer("action", j.Action).Str("connector", w.remote.Name).Str("key", keyOf(j)).Str("job", jobID(j.Meta)).
			Msg("a job that no longer counts could not be deleted; it may still run")
	}
}

// remove has the connector delete a job.
func (w *worker) remove(ctx context.Context, j *store.Job) error {
	connection, err := w.connection(ctx, j, j.Secrets, false)
	if err != nil {
		return err
	}
	_, err = call(ctx, w, "DeleteTask", w.remote.jobs.DeleteTask, &connectorv2.DeleteTaskRequest{
		ResourceMeta: j.Meta, TaskCategory: category(j), Connection: connection,
	}, connection)
	if gone(err) || connect.CodeOf(err) == connect.CodeUnimplemented && connect.IsWireError(err) {
		return nil // there is no such job, or it cannot delete jobs
	}
	return err
}
