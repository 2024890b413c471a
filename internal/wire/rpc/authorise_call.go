package rpc

import (
	"context"
	"maps"
	"slices"
	"sync"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// authorisation asks about the messages of calls.
type authorisation struct {
	authz.Decider
	audit   audit
	limiter *limiter
	gate    *gate // its authenticator knows when credentials end
	clock   clock.Clock
}

var _ connect.Interceptor = (*authorisation)(nil)

// admit decides what is known before any message.
func admit(ctx context.Context, name string, rule authz.Rule) error {
	return authz.Admit(name, rule, authz.IdentityFrom(ctx), isInternal(ctx))
}

// asked reports whether the authoriser decides about the messages of an admitted call. A service that calls on behalf of a
// caller has the permissions of that caller.
func asked(ctx context.Context, rule authz.Rule) bool { return rule.Asks(authz.IdentityFrom(ctx).Kind) }

// about is what a message is about.
func (a *authorisation) about(name string, row authz.Row, message any) ([]authz.Resource, error) {
	resources, err := a.About(name, row, message)
	if err != nil {
		return nil, Internal(err, "%s cannot be authorised", name)
	}
	return resources, nil
}

// request asks about a request to a plain route, and records it. Its error is that for the client.
func (a *authorisation) request(ctx context.Context, request authz.Request, rule authz.Rule, resource authz.Resource) error {
	entry := authz.Entry{Request: request, Rule: rule}
	if asked(ctx, rule) {
		entry.Resources = []authz.Resource{resource}
		if _, err := a.One(ctx, rule, resource); err != nil {
			entry.Outcome, entry.Err = refusalIn(err), answer(ctx, err)
		}
	}
	if !rule.By.Open() {
		a.audit.record(ctx, entry)
	}
	return entry.Err
}

// WrapUnary implements connect.Interceptor. Connect decodes the request before its interceptors run, so the message
// is there, though not validated yet.
func (a *authorisation) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (response connect.AnyResponse, err error) {
		name := request.Spec().Procedure
		row, _ := authz.RowOf(name)
		scope := authz.Everything()
		done := recording{authorisation: a, rule: row.Rule()}
		defer func() { done.end(ctx, err) }()
		if err = a.own(ctx, name, row, request.Any()); err != nil {
			done.outcome = refusalIn(err)
			return nil, answer(ctx, err)
		}
		if asked(ctx, row.Rule()) {
			if done.resources, err = a.about(name, row, request.Any()); err == nil {
				scope, err = a.All(ctx, row.Rule(), done.resources)
			}
			if err != nil {
				done.outcome = refusalIn(err)
				return nil, answer(ctx, err)
			}
			if err = a.limiter.call(ctx, row.Rule(), done.resources, request.Any()); err != nil {
				return nil, answer(ctx, err)
			}
		}
		var handled context.Context
		if handled, err = done.begin(ctx); err != nil {
			return nil, answer(ctx, err)
		}
		return next(authz.WithScope(handled, scope), request)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (a *authorisation) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) (err error) {
		row, _ := authz.RowOf(conn.Spec().Procedure)
		if !asked(ctx, row.Rule()) {
			return a.streamOfParts(ctx, row, conn, next)
		}
		ctx, end := context.WithCancelCause(ctx)
		cell := &authz.Cell{}
		authorised := &authorisedConn{
			StreamingHandlerConn: conn, ctx: ctx, authorisation: a, row: row, cell: cell, decided: map[authz.Resource]authz.Scope{},
		}
		defer func() { authorised.record(ctx, err) }()
		defer authorised.leave()
		var watch sync.WaitGroup
		defer watch.Wait()
		defer end(nil)
		after, changed := a.changes() // before the first question
		if lasting := a.lasting(ctx); lasting != nil || changed != nil {
			watch.Go(func() { authorised.watchRights(lasting, after, changed, end) })
		}
		err = next(authz.WithCell(ctx, cell), authorised)
		if reason := taken(ctx); reason != nil && err == nil {
			return answer(ctx, reason) // of a handler to which the end of its context is not a failure
		}
		return err
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (a *authorisation) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// maxDecided bounds what a stream remembers of its resources; beyond it starts again, and asks again.
const maxDecided = 1024

// authorisedConn asks about the messages of a stream as they come: the first, and each that names another resource. Its
// errors become the wire's when the handler returns them.
type authorisedConn struct {
	connect.StreamingHandlerConn
	ctx           context.Context //nolint:containedctx // that of the call
	authorisation *authorisation
	row           authz.Row
	cell          *authz.Cell

	mu      sync.Mutex
	decided map[authz.Resource]authz.Scope // GUARDED_BY(mu)
	denied  []authz.Resource               // GUARDED_BY(mu): what ended the stream
	refused authz.Outcome                  // GUARDED_BY(mu): Refused once a question was answered with a denial
	places  map[string]func()              // GUARDED_BY(mu): what gives back the places of the stream in projects
}

// Receive implements connect.StreamingHandlerConn.
func (c *authorisedConn) Receive(message any) error {
	if err := c.StreamingHandlerConn.Receive(message); err != nil {
		return err
	}
	scope, err := c.decide(message)
	if err != nil {
		return err
	}
	c.cell.Set(scope)
	return nil
}

// decide asks about the resources of a message that the stream has not named before.
func (c *authorisedConn) decide(message any) (authz.Scope, error) {
	resources, err := c.authorisation.about(c.Spec().Procedure, c.row, message)
	if err != nil {
		return authz.Scope{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.decided) > maxDecided {
		clear(c.decided)
	}
	all := authz.Everything()
	for _, resource := range resources {
		scope, known := c.decided[resource]
		if !known {
			if scope, err = c.authorisation.One(c.ctx, c.row.Rule(), resource); err != nil {
				c.refused, c.denied = refusalIn(err), []authz.Resource{resource}
				return authz.Scope{}, err
			}
			c.decided[resource] = scope
		}
		all = all.And(scope)
	}
	return all, c.enter(resources)
}

// enter takes a place in the project that a message names, unless the stream has one. GUARDED_BY(mu).
func (c *authorisedConn) enter(resources []authz.Resource) error {
	project, named := authz.ProjectOf(resources)
	if _, has := c.places[project]; has || !named {
		return nil
	}
	release, err := c.authorisation.limiter.names(c.ctx, project)
	if err != nil {
		return err
	}
	if c.places == nil {
		c.places = map[string]func(){}
	}
	c.places[project] = release
	return nil
}

// leave gives back the places of the stream.
func (c *authorisedConn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, release := range c.places {
		release()
	}
	c.places = nil
}

// record records the stream at its end, with what it has named, in no order.
func (c *authorisedConn) record(ctx context.Context, err error) {
	c.mu.Lock()
	done := recording{authorisation: c.authorisation, rule: c.row.Rule(), resources: slices.AppendSeq(c.denied, maps.Keys(c.decided))}
	if err != nil {
		done.outcome = c.refused
	}
	c.mu.Unlock()
	done.end(ctx, err)
}

// Send implements connect.StreamingHandlerConn. What is sent before anything was received answers no request, and
// takes the permission for everything. Nothing is sent once the right is gone.
func (c *authorisedConn) Send(message any) error {
	if reason := taken(c.ctx); reason != nil {
		return reason
	}
	if !c.cell.Decided() {
		c.mu.Lock()
		scope, err := c.authorisation.One(c.ctx, c.row.Rule(), authz.Resource{})
		if err == nil {
			c.decided[authz.Resource{}] = scope
		} else {
			c.refused = refusalIn(err)
		}
		c.mu.Unlock()
		if err != nil {
			return err
		}
		c.cell.Set(scope)
	}
	return c.StreamingHandlerConn.Send(message)
}
