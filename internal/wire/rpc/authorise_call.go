package rpc

import (
	"context"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// authorization asks about the messages of calls.
type authorisation struct{ authz.Decider }

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

// message asks about every resource of a message and returns what the lists of the call may show.
func (a *authorisation) message(ctx context.Context, name string, row authz.Row, message any) (authz.Scope, error) {
	resources, err := a.about(name, row, message)
	if err != nil {
		return authz.Scope{}, err
	}
	return a.All(ctx, row.Rule(), resources)
}

// WrapUnary implements connect.Interceptor. Connect decodes the request before its interceptors run, so the message
// is there, though not validated yet.
func (a *authorisation) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		name := request.Spec().Procedure
		row, _ := authz.RowOf(name)
		scope := authz.Everything()
		if asked(ctx, row.Rule()) {
			var err error
			if scope, err = a.message(ctx, name, row, request.Any()); err != nil {
				return nil, answer(ctx, err)
			}
		}
		return next(authz.WithScope(ctx, scope), request)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (a *authorisation) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		row, _ := authz.RowOf(conn.Spec().Procedure)
		if !asked(ctx, row.Rule()) {
			return next(authz.WithScope(ctx, authz.Everything()), conn)
		}
		cell := &authz.Cell{}
		return next(authz.WithCell(ctx, cell), &authorisedConn{
			StreamingHandlerConn: conn, ctx: ctx, authorisation: a, row: row, cell: cell, decided: map[authz.Resource]authz.Scope{},
		})
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
	decided       map[authz.Resource]authz.Scope // used by Receive alone, which has one caller at a time
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
	if len(c.decided) > maxDecided {
		clear(c.decided)
	}
	all := authz.Everything()
	for _, resource := range resources {
		scope, known := c.decided[resource]
		if !known {
			if scope, err = c.authorisation.One(c.ctx, c.row.Rule(), resource); err != nil {
				return authz.Scope{}, err
			}
			c.decided[resource] = scope
		}
		all = all.And(scope)
	}
	return all, nil
}

// Send implements connect.StreamingHandlerConn. What is sent before anything was received answers no request, and
// takes the permission for everything.
func (c *authorisedConn) Send(message any) error {
	if !c.cell.Decided() {
		scope, err := c.authorisation.One(c.ctx, c.row.Rule(), authz.Resource{})
		if err != nil {
			return err
		}
		c.cell.Set(scope)
	}
	return c.StreamingHandlerConn.Send(message)
}
