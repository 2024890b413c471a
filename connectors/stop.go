package connectors

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	"github.com/flyte-binary/flyte-binary/internal/names/timelimit"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// stop has the connector delete a job until it acknowledges that. Then the attempt is over.
func (w *worker) stop(ctx context.Context, j *store.Job) (next, error) {
	switch {
	case j.Stage == store.Waiting:
		return done(), w.store.Done(ctx, j)
	case j.Stage == store.Intended:
		zerolog.Ctx(ctx).Warn().Stringer("action", j.Action).Str("connector", w.remote.Name).Str("key", keyOf(j)).
			Msg("the action has ended while its job was requested, and the connector has not named the job; it may still run")
		return done(), w.store.Done(ctx, j)
	}
	if err := w.remove(ctx, j); err != nil {
		if ctx.Err() != nil {
			return next{}, ctx.Err()
		}
		if j.StoppedFor < w.config.DeleteFor {
			return w.refused(j, err), nil
		}
		zerolog.Ctx(ctx).Error().Err(err).Stringer("action", j.Action).Str("connector", w.remote.Name).Msg("giving up the deletion of a job; it may still run")
	}
	failpoint.Here("connectors: job is deleted")
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
