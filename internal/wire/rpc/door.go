package rpc

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Door takes the requests of one plain route through the chain where no pattern of the mux describes them, and only the
// handler knows what a request is about: the hosts and paths of apps.
type Door struct {
	pattern   string
	rule      authz.Rule
	gate      *gate
	authorise *authorisation
	log       zerolog.Logger // of requests without an id
}

// Door returns the door of a route of the table. The caller serves the route itself. It panics for a route without a rule.
func (m *Mux) Door(pattern string) *Door {
	rule, ok := authz.RouteRuleOf(pattern)
	if !ok {
		panic("rpc: route " + pattern + " has no rule; add it to the table of routes")
	}
	m.paths = append(m.paths, pattern)
	log := m.links.gate.log.With().Str("procedure", pattern).Logger()
	return &Door{pattern: pattern, rule: rule, gate: m.links.gate, authorise: m.links.authorise, log: log}
}

// Enter returns the context of a request with its logger and its caller, or the error for the client. What is open to
// anyone takes callers whose credential is not valid here as anonymous: it may be a credential of the handler's own.
func (d *Door) Enter(r *http.Request, about authz.Resource, open bool) (context.Context, error) {
	c := call{request: requestOf(r, d.pattern), log: &d.log}
	if open {
		return d.gate.identify(r.Context(), c, d.rule), nil
	}
	ctx, err := d.gate.enter(r.Context(), c, d.rule)
	if err != nil {
		return nil, err
	}
	if err := d.authorise.request(ctx, c.request, d.rule, about); err != nil {
		return nil, err
	}
	return ctx, nil
}

// EnterAs is Enter for a caller whom the handler has identified, by a credential of its own.
func (d *Door) EnterAs(r *http.Request, caller authz.Identity, about authz.Resource) (context.Context, error) {
	c := call{request: requestOf(r, d.pattern), log: &d.log}
	ctx := authz.WithIdentity(requestLog(r.Context(), d.gate.log, c), caller)
	if err := admit(ctx, d.pattern, d.rule); err != nil {
		return nil, d.gate.refuse(ctx, c, d.rule, err)
	}
	if err := d.authorise.request(ctx, c.request, d.rule, about); err != nil {
		return nil, err
	}
	return ctx, nil
}

// identify returns the context of a request with its logger and its caller, who is anonymous without a valid credential.
func (g *gate) identify(ctx context.Context, c call, rule authz.Rule) (identified context.Context) {
	ctx = requestLog(ctx, g.log, c)
	defer func() {
		if value := recover(); value != nil { // of the authenticator
			_ = recovered(ctx, connect.Spec{}, c.request.Header, value) // logged; its error has no use here
			identified = authz.WithIdentity(ctx, authz.Identity{})
		}
	}()
	known, err := authenticate(ctx, c, rule, g.authenticator, g.internal)
	if err != nil {
		return authz.WithIdentity(ctx, authz.Identity{})
	}
	return known
}
