package rpc

import (
	"context"
	"errors"

	"connectrpc.com/connect"
)

// endings decides how a stream ends whose handler has returned an error. It is the only place for this: handlers of streams return
// what they got, which after the end of the context is rarely more than canceled.
type endings struct{}

var _ connect.Interceptor = endings{}

// WrapUnary implements connect.Interceptor.
func (endings) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingHandler implements connect.Interceptor.
func (endings) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return ended(ctx, next(ctx, conn))
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (endings) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// ended returns the error of a stream for answer, which maps what is left: canceled never reaches a client that still reads, since
// it would take that for its own cancellation and not subscribe again.
//
// Another interceptor ends a stream by canceling its context with an *Error as the cause, for instance when the caller has lost the
// right to the stream; that error is the answer.
func ended(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	var reason *Error
	switch {
	case errors.Is(cause, ErrShuttingDown):
		return SubscribeAgain()
	case errors.As(cause, &reason):
		return reason
	case errors.Is(ctx.Err(), context.Canceled): // the client has left, so nothing reads the error, and nothing has failed
		return nil
	default:
		return err
	}
}

// SubscribeAgain is the error that ends the streams of a server that stops.
func SubscribeAgain() error {
	return Unavailable(ErrShuttingDown, "the server is shutting down; subscribe again")
}
