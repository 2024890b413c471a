package connectors

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/internal/names/timelimit"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// stop has the connector delete a job until it acknowledges that. Then the attempt is over.
func (w *worker) stop(ctx context.Context, j *store.Job) (next, error) {
	if j.Stop == store.Released && j.HasEnded() {
		return done(), w.store.Done(ctx, j)
	}
	switch j.Stage { //nolint:exhaustive // a created job is deleted below
	case store.Waiting:
		return done(), w.store.Done(ctx, j)
	case store.Intended:
		if what, err := w.named(ctx, j); err != nil || j.Stage == store.Intended {
			return what, err
		}
	}
	if j.Failures == 0 {
		if err := w.logBeforeDeletion(ctx, j); err != nil {
			return next{}, err
		}
	}
	if err := w.remove(ctx, j); err != nil {
		if ctx.Err() != nil {
			return next{}, ctx.Err()
		}
		switch {
		case j.StoppedFor >= w.config.DeleteFor:
		case away(err):
			return w.again(j, err), nil
		default:
			return w.refused(j, err), nil
		}
		zerolog.Ctx(ctx).Error().Err(err).Stringer("action", j.Action).Str("connector", w.remote.Name).Msg("giving up the deletion of a job; it may still run")
	}
	failpoint.Here("connectors.after-delete")
	if j.Stop == store.Released {
		return done(), w.store.Done(ctx, j)
	}
	assigned, err := w.assignment(ctx, j.UID)
	if err != nil {
		return next{}, err
	}
	if assigned == nil {
		return done(), w.store.Done(ctx, j)
	}
	limit := assigned.GetTask().GetSpec().GetTaskTemplate().GetMetadata().GetTimeout().AsDuration()
	return w.failed(ctx, j, assigned, failure.OverTime(failure.RuntimeExceeded, timelimit.Runtime.Message(limit)), nil)
}

// named finds out how the connector calls a job that was requested and whose answer is not known, so that it can be deleted:
// it asks for it again with the same key. Otherwise what follows is the result, and the stage of the job stays.
func (w *worker) named(ctx context.Context, j *store.Job) (next, error) {
	answer, err := w.deps.Engine.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: []int64{j.UID}, Ended: true})
	if err != nil {
		return next{}, fmt.Errorf("read an assignment: %w", err)
	}
	if len(answer.GetAssignments()) == 0 {
		zerolog.Ctx(ctx).Warn().Stringer("action", j.Action).Str("connector", w.remote.Name).Str("key", keyOf(j)).
			Msg("an action was deleted while its job was requested; the job may still run")
		return done(), w.store.Done(ctx, j)
	}
	request, err := w.request(ctx, j, answer.GetAssignments()[0], "") // a job that is to be deleted needs no token
	if err == nil {
		request.Connection, err = w.connection(ctx, j, j.Secrets, false)
	}
	if err != nil && failure.Of(err) == nil {
		return next{}, err
	}
	if err == nil {
		var created *connectorv2.CreateTaskResponse
		if created, err = call(ctx, w, "CreateTask", w.remote.jobs.CreateTask, request, request.GetConnection()); err == nil {
			j.Stage, j.Meta = store.Created, created.GetResourceMeta()
			if len(j.Meta) > w.config.MaxMeta { // it is not stored; should the deletion fail, it is asked for again
				return next{}, nil
			}
			_, err = w.store.Created(ctx, j, j.Meta)
			return next{}, err
		}
	}
	switch {
	case ctx.Err() != nil:
		return next{}, ctx.Err()
	case away(err) && j.StoppedFor < w.config.DeleteFor:
		return w.again(j, err), nil
	case away(err):
		zerolog.Ctx(ctx).Error().Err(err).Stringer("action", j.Action).Str("connector", w.remote.Name).Str("key", keyOf(j)).
			Msg("giving up the deletion of a job whose name is not known; it may still run")
	}
	return done(), w.store.Done(ctx, j) // the connector starts no such job, so there is none
}
