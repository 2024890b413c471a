package rpc

import (
	"context"

	"connectrpc.com/connect"
)

// WithBearer makes a client present a token, which is asked for with each call. A call fails as unauthenticated while there is none.
func WithBearer(token func() (string, error)) connect.ClientOption {
	return connect.WithInterceptors(bearerSender(token))
}

type bearerSender func() (string, error)

// WrapUnary implements connect.Interceptor.
func (b bearerSender) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		token, err := b()
		if err != nil {
			return nil, connect.NewError(connect.CodeUnauthenticated, err)
		}
		request.Header().Set("Authorization", "Bearer "+token)
		return next(ctx, request)
	}
}

// WrapStreamingClient implements connect.Interceptor. A stream without a token is refused by the server.
func (b bearerSender) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		if token, err := b(); err == nil {
			conn.RequestHeader().Set("Authorization", "Bearer "+token)
		}
		return conn
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (bearerSender) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
