package credentials

import (
	"context"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// ClientOption makes a client present the credential, as it is at each call. A call fails as unauthenticated while there is none.
func (c *Presented) ClientOption() connect.ClientOption { return connect.WithInterceptors(sender{c}) }

type sender struct{ *Presented }

// WrapUnary implements connect.Interceptor.
func (s sender) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		secret, err := s.Secret()
		if err != nil {
			return nil, rpc.Unauthenticated("%v", err)
		}
		request.Header().Set("Authorization", bearer+secret)
		return next(ctx, request)
	}
}

// WrapStreamingClient implements connect.Interceptor. A stream without a credential is refused by the server.
func (s sender) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		if secret, err := s.Secret(); err == nil {
			conn.RequestHeader().Set("Authorization", bearer+secret)
		}
		return conn
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (sender) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
