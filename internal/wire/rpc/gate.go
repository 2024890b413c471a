package rpc

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/tokenpath"
)

// gate is what every call and every plain route passes before a byte of its body is read: who calls, and whether the
// table lets them call this at all. A refused request is not decoded.
type gate struct {
	log           zerolog.Logger
	authenticator authz.Authenticator
	internal      internal
	refusals      *refusals
	audit         audit
	limiter       *limiter
}

// call is what is known of a request before its messages.
type call struct {
	request authz.Request
	// log has the procedure already; nil if it must be made.
	log *zerolog.Logger
}

// request is the gate as an option of a handler.
func (g *gate) request(ctx context.Context, spec connect.Spec, peer connect.Peer, header http.Header) (context.Context, error) {
	rule, _ := authz.RuleOf(spec.Procedure)
	return g.pass(ctx, call{request: arrived(ctx, spec.Procedure, peer.Addr, header)}, rule)
}

// pass is enter for what counts as a request of its caller.
func (g *gate) pass(ctx context.Context, c call, rule authz.Rule) (context.Context, error) {
	ctx, err := g.enter(ctx, c, rule)
	if err != nil {
		return nil, err
	}
	if err := g.limiter.request(ctx, rule); err != nil {
		return nil, answer(ctx, err)
	}
	return ctx, nil
}

// enter returns the context of the request with its logger and its caller, or the error for the client.
func (g *gate) enter(ctx context.Context, c call, rule authz.Rule) (entered context.Context, err error) {
	ctx = requestLog(ctx, g.log, c)
	ctx = context.WithValue(ctx, admittedKey{}, &admitted{c.request, g.refusals})
	defer func() {
		if value := recover(); value != nil { // of the authenticator; the chain's own recovery begins after the gate
			err = recovered(ctx, connect.Spec{}, c.request.Header, value)
		}
	}()
	// Public and signed ones need no caller, and an invalid credential must not stop a probe.
	if !rule.By.Open() {
		if ctx, err = authenticate(ctx, c, rule, g.authenticator, g.internal); err != nil {
			return nil, g.refuse(ctx, c, rule, err)
		}
	}
	if err = admit(ctx, c.request.Procedure, rule); err != nil {
		return nil, g.refuse(ctx, c, rule, err)
	}
	return ctx, nil
}

// refuse returns the error for the client of a request that does not pass.
func (g *gate) refuse(ctx context.Context, c call, rule authz.Rule, err error) error {
	err = answer(ctx, err)
	g.audit.record(ctx, authz.Entry{Request: c.request, Rule: rule, Err: err})
	return err
}

// admitted is a request that has passed the gate's door, for what is said about its end.
type admitted struct {
	request  authz.Request
	refusals *refusals
}

type admittedKey struct{}

func (a *admitted) note(ctx context.Context, err error) {
	if a != nil {
		a.refusals.note(ctx, a.request.Procedure, err)
	}
}

func (a *admitted) count(ctx context.Context, kind Kind) {
	if a != nil {
		a.refusals.count(ctx, a.request.Procedure, kind)
	}
}

// requestLog gives a request its logger, with the procedure and the client's request id.
func requestLog(ctx context.Context, log zerolog.Logger, c call) context.Context {
	id := c.request.Header.Get("X-Request-Id")
	if c.log != nil && id == "" {
		return c.log.WithContext(ctx)
	}
	fields := log.With().Str("procedure", c.request.Procedure)
	if id != "" {
		fields = fields.Str("requestId", id)
	}
	return fields.Logger().WithContext(ctx)
}

// arrivalKey leads to what the gate of a procedure cannot see of the request.
type arrivalKey struct{}

// arrival marks a request on its way to the handler of a procedure, whose gate sees no more than its headers and its peer.
func arrival(r *http.Request) *http.Request {
	if r.TLS == nil && r.Method == http.MethodPost {
		return r // nothing that arrived does not say by itself
	}
	return r.WithContext(context.WithValue(r.Context(), arrivalKey{}, r))
}

// arrived is what is known of a call before its body is read.
func arrived(ctx context.Context, procedure, peer string, header http.Header) authz.Request {
	request := authz.Request{Header: header, Token: tokenpath.From(ctx), Peer: peer, Procedure: procedure, Method: http.MethodPost, Origin: header.Get("Origin")}
	if r, ok := ctx.Value(arrivalKey{}).(*http.Request); ok {
		request.TLS, request.Method = r.TLS, r.Method
	}
	return request
}

// requestOf is what is known of a request to a plain route.
func requestOf(r *http.Request, pattern string) authz.Request {
	return authz.Request{
		Header: r.Header, Token: tokenpath.From(r.Context()), Peer: r.RemoteAddr, TLS: r.TLS, Procedure: pattern, Method: r.Method, Origin: r.Header.Get("Origin"),
	}
}
