package rpc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"connectrpc.com/connect"
)

// InternalTokenHeader carries the internal credential of a service that runs in another process.
const InternalTokenHeader = "X-Flyte-Internal-Token"

// Authenticator finds out who calls. It returns the anonymous identity for a caller that presents nothing, and an
// Unauthenticated error for a credential that does not hold.
type Authenticator interface {
	Authenticate(ctx context.Context, header http.Header) (Identity, error)
}

// Anonymous is the authenticator of an installation without authentication: everybody is anonymous.
type Anonymous struct{}

var _ Authenticator = Anonymous{}

// Authenticate implements Authenticator.
func (Anonymous) Authenticate(context.Context, http.Header) (Identity, error) { return Identity{}, nil }

// internalKey marks the context of a request whose caller is a service of this installation.
type internalKey struct{}

func isInternal(ctx context.Context) bool {
	internal, _ := ctx.Value(internalKey{}).(bool)
	return internal
}

// authenticate puts the caller's identity into the context. In-process calls keep the identity of whom they are made
// for.
func authenticate(authenticator Authenticator, internalToken string) around {
	return func(ctx context.Context, call call, next func(context.Context) error) error {
		trusted := isInProcess(ctx) || sameToken(internalToken, call.header.Get(InternalTokenHeader))
		if trusted {
			ctx = context.WithValue(ctx, internalKey{}, true)
			if _, known := ctx.Value(identityKey{}).(Identity); !known {
				ctx = WithIdentity(ctx, Identity{Caller: CallerInternal, Subject: "internal"})
			}
			return next(ctx)
		}
		identity, err := authenticator.Authenticate(ctx, call.header)
		if err != nil {
			return answer(ctx, err)
		}
		return next(WithIdentity(ctx, identity))
	}
}

// sameToken compares in constant time. No configured token means that none is right.
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
