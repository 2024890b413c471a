package rpc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// InternalTokenHeader carries the internal credential of a service that runs in another process.
const InternalTokenHeader = "X-Flyte-Internal-Token"

// internalKey marks the context of a request whose caller is a service of this installation.
type internalKey struct{}

func isInternal(ctx context.Context) bool {
	internal, _ := ctx.Value(internalKey{}).(bool)
	return internal
}

// authenticate puts the caller's identity into the context. In-process calls keep the identity of the caller that they
// are made for. One without an identity may call internal procedures, as a service of the process; to everything else it is
// anonymous, so that a context which lost its caller gains nothing. A loop that needs more says so by AsService.
func authenticate(ctx context.Context, c call, rule authz.Rule, authenticator authz.Authenticator, others internal) (context.Context, error) {
	inProcess := isInProcess(ctx)
	if inProcess || others.presented(c.request) {
		ctx = context.WithValue(ctx, internalKey{}, true)
		if _, known := authz.IdentityIn(ctx); known {
			return ctx, nil
		}
		if !inProcess || rule.By.Internal() {
			ctx = authz.AsService(ctx, "internal")
		}
		return ctx, nil
	}
	identity, err := authenticator.Authenticate(ctx, c.request)
	if err != nil {
		return ctx, err
	}
	return authz.WithIdentity(ctx, identity), nil
}

// internal is how services in other processes are known.
type internal struct {
	token string
	// peer reports whether the token counts on a connection; nil means on each.
	peer func(*tls.ConnectionState) bool
}

// presented reports whether a request is one of a service in another process.
func (i internal) presented(request authz.Request) bool {
	return sameToken(i.token, request.Header.Get(InternalTokenHeader)) && (i.peer == nil || i.peer(request.TLS))
}

// sameToken compares in constant time. Without a configured token, no token matches.
func sameToken(want, got string) bool {
	if want == "" || got == "" {
		return false
	}
	a, b := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(got))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// WithInternalToken makes a client present the internal credential, for services deployed apart.
func WithInternalToken(token string) connect.ClientOption {
	return connect.WithInterceptors(tokenSender(token))
}

type tokenSender string

// WrapUnary implements connect.Interceptor.
func (t tokenSender) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		request.Header().Set(InternalTokenHeader, string(t))
		return next(ctx, request)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (t tokenSender) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		conn.RequestHeader().Set(InternalTokenHeader, string(t))
		return conn
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (tokenSender) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
