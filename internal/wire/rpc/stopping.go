package rpc

import (
	"context"

	"connectrpc.com/connect"
)

// endStreams ends the streams of clients when the process begins to stop: with ErrShuttingDown, which they see as
// unavailable and answer by calling again. Single calls are left to finish. Streams within the process end with the
// parts that hold them.
type endStreams struct{ stopping context.Context } //nolint:containedctx // it is the signal

var _ connect.Interceptor = endStreams{}

// WrapUnary implements connect.Interceptor.
func (endStreams) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingHandler implements connect.Interceptor.
func (e endStreams) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	if e.stopping == nil {
		return next
	}
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		if isInProcess(ctx) {
			return next(ctx, conn)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(e.stopping, func() { cancel(ErrShuttingDown) })()
		return next(ctx, conn)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (endStreams) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
