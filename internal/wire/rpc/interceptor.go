package rpc

import (
	"context"

	"connectrpc.com/connect"
)

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
