package rpc

import (
	"context"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// limiter asks about the calls of the network. Calls within the process, and those of other processes of the installation,
// are parts of calls that were counted.
type limiter struct{ authz.Limiter }

var _ connect.Interceptor = (*limiter)(nil)

// request counts a request that has passed the door. Refusals are not recorded: a record of each would give the caller what the
// limit takes.
func (l *limiter) request(ctx context.Context, rule authz.Rule) error {
	if rule.By.Open() || isInternal(ctx) {
		return nil
	}
	return l.Request(ctx, authz.IdentityFrom(ctx))
}

// call counts a call that is allowed.
func (l *limiter) call(ctx context.Context, rule authz.Rule, resources []authz.Resource) error {
	if isInternal(ctx) {
		return nil
	}
	return l.Call(ctx, authz.IdentityFrom(ctx), rule, resources)
}

// WrapUnary implements connect.Interceptor.
func (*limiter) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingHandler implements connect.Interceptor: a stream has a place while its handler runs.
func (l *limiter) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		if isInternal(ctx) {
			return next(ctx, conn)
		}
		release, err := l.Stream(ctx, authz.IdentityFrom(ctx))
		if err != nil {
			return answer(ctx, err)
		}
		defer release()
		return next(ctx, conn)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (*limiter) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
