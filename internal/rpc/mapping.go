package rpc

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
)

// mapErrors is next to the handler: it turns what the handler returned into the wire's errors and logs what is our
// own fault.
func mapErrors() around {
	return func(ctx context.Context, _ call, next func(context.Context) error) error {
		err := next(ctx)
		if err == nil {
			return nil
		}
		return answer(ctx, err)
	}
}

func answer(ctx context.Context, err error) error {
	kind := KindOf(err)
	log := zerolog.Ctx(ctx)
	switch {
	case kind == KindCanceled && errors.Is(context.Cause(ctx), ErrShuttingDown):
		return toConnect(Unavailable(err, "%s", ErrShuttingDown))
	case kind == KindCanceled && ctx.Err() == nil:
		// Something of ours was cancelled, not the request. Clients would take canceled for their own wish.
		log.Warn().Err(err).Msg("call failed")
		return toConnect(Unavailable(err, "the work was interrupted; try again"))
	case kind == KindInternal || kind == KindDataLoss:
		id := errorID()
		log.Error().Err(err).Str("errorId", id).Msg("call failed")
		wire := toConnect(err)
		return connect.NewError(wire.Code(), errors.New(wire.Message()+" (error id "+id+")"))
	case kind == KindUnavailable && errors.Is(context.Cause(ctx), context.Canceled):
		// Nobody listens any more; the end of a client is no failure of ours.
		log.Debug().Err(err).Msg("the caller has gone")
	case kind == KindUnavailable:
		log.Warn().Err(err).Msg("call failed")
	default:
		log.Debug().Err(err).Msg("call refused")
	}
	return toConnect(err)
}
