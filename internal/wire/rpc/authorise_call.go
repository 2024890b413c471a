package rpc

import (
	"context"

	"connectrpc.com/connect"
)

var _ connect.Interceptor = (*authorisation)(nil)

// WrapUnary implements connect.Interceptor. Connect decodes the request before its interceptors run, so the message
// is there, though not validated yet.
func (a *authorisation) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		name := request.Spec().Procedure
		row, _ := procedureOf(name)
		scope := Everything()
		if asked(ctx, row) {
			var err error
			if scope, err = a.message(ctx, name, row, request.Any()); err != nil {
				return nil, answer(ctx, err)
			}
		}
		return next(WithScope(ctx, scope), request)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (a *authorisation) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		row, _ := procedureOf(conn.Spec().Procedure)
		if !asked(ctx, row) {
			return next(WithScope(ctx, Everything()), conn)
		}
		cell := &scopeCell{}
		return next(context.WithValue(ctx, scopeKey{}, cell), &authorisedConn{
			StreamingHandlerConn: conn, ctx: ctx, authorisation: a, row: row, cell: cell, decided: map[Resource]Scope{},
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
	row           procedure
	cell          *scopeCell
	decided       map[Resource]Scope // used by Receive alone, which has one caller at a time
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
	c.cell.scope.Store(&scope)
	return nil
}

// decide asks about the resources of a message that the stream has not named before.
func (c *authorisedConn) decide(message any) (Scope, error) {
	resources, err := c.authorisation.about(c.Spec().Procedure, c.row, message)
	if err != nil {
		return Scope{}, err
	}
	if len(c.decided) > maxDecided {
		clear(c.decided)
	}
	all := Everything()
	for _, resource := range resources {
		scope, known := c.decided[resource]
		if !known {
			if scope, err = c.authorisation.one(c.ctx, c.row.rule(), resource); err != nil {
				return Scope{}, err
			}
			c.decided[resource] = scope
		}
		all = all.and(scope)
	}
	return all, nil
}

// Send implements connect.StreamingHandlerConn. What is sent before anything was received answers no request, and
// takes the permission for everything.
func (c *authorisedConn) Send(message any) error {
	if c.cell.scope.Load() == nil {
		scope, err := c.authorisation.one(c.ctx, c.row.rule(), Resource{})
		if err != nil {
			return err
		}
		c.cell.scope.CompareAndSwap(nil, &scope)
	}
	return c.StreamingHandlerConn.Send(message)
}
