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
	return func(ctx context.Context, next func(context.Context) error) error {
		err := next(ctx)
		if err == nil {
			return nil
		}
		return answer(ctx, err)
	}
}

// answer is what the client gets for an error that ends its call. It counts and logs the error, so a call passes it once.
func answer(ctx context.Context, err error) error {
	kind := KindOf(err)
	log := zerolog.Ctx(ctx)
	call, _ := ctx.Value(admittedKey{}).(*admitted)
	switch {
	case kind == KindCanceled && errors.Is(context.Cause(ctx), ErrShuttingDown):
		return toConnect(Unavailable(err, "%s", ErrShuttingDown))
	case kind == KindCanceled && ctx.Err() == nil:
		// An internal operation was canceled, not the request. Do not report Canceled: clients treat it as their own cancellation.
		err = Unavailable(err, "the work was interrupted; try again")
		call.note(ctx, err)
		return toConnect(err)
	case kind == KindInternal || kind == KindDataLoss:
		// Each has an id that its client can quote, so each is in the log.
		call.count(ctx, kind)
		id := errorID()
		log.Error().Err(err).Str("errorId", id).Msg("call failed")
		wire := toConnect(err)
		return connect.NewError(wire.Code(), errors.New(wire.Message()+" (error id "+id+")"))
	case kind == KindCanceled:
		log.Debug().Err(err).Msg("client disconnected")
	case kind == KindUnavailable && errors.Is(context.Cause(ctx), context.Canceled):
		// The client disconnected; this is not a server error.
		log.Debug().Err(err).Msg("client disconnected")
	default:
		call.note(ctx, err)
	}
	return toConnect(err)
}

// around is an interceptor that treats unary calls and streams alike: it runs before and after next, and may replace
// the context or the error.
type around func(ctx context.Context, next func(context.Context) error) error

var _ connect.Interceptor = around(nil)

// WrapUnary implements connect.Interceptor.
func (a around) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if request.Spec().IsClient {
			return next(ctx, request)
		}
		var response connect.AnyResponse
		err := a(ctx, func(ctx context.Context) error {
			var err error
			response, err = next(ctx, request)
			return err
		})
		if err != nil {
			return nil, err
		}
		return response, nil
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (a around) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return a(ctx, func(ctx context.Context) error {
			return next(ctx, conn)
		})
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (a around) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
