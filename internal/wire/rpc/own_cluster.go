package rpc

import (
	"context"
	"errors"
	"sync"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// own keeps the controller of a cluster to its cluster.
func (a *authorisation) own(ctx context.Context, name string, row authz.Row, message any) error {
	err := a.OwnCluster(ctx, name, row, message)
	if err != nil && !isDenial(err) {
		return Internal(err, "%s cannot be authorised", name)
	}
	return err
}

// streamOfParts serves a stream about which the authoriser is not asked: one that is open, or of a part of the installation. It ends
// with the credential of its caller.
func (a *authorisation) streamOfParts(ctx context.Context, row authz.Row, conn connect.StreamingHandlerConn, next connect.StreamingHandlerFunc) (err error) {
	done := recording{authorisation: a, rule: row.Rule()}
	defer func() { done.end(ctx, err) }()
	if authz.IdentityFrom(ctx).Kind != authz.Cluster {
		return next(authz.WithScope(ctx, authz.Everything()), conn)
	}
	ctx, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer end(nil)
	if lasting := a.lasting(ctx); lasting != nil {
		watch.Go(func() { a.watchCredential(ctx, lasting, end) })
	}
	err = next(authz.WithScope(ctx, authz.Everything()), &ownConn{StreamingHandlerConn: conn, ctx: ctx, authorisation: a, row: row})
	if reason := taken(ctx); reason != nil && err == nil {
		return answer(ctx, reason)
	}
	return err
}

// ownConn keeps the controller of a cluster to its cluster with each message of a stream.
type ownConn struct {
	connect.StreamingHandlerConn
	ctx           context.Context //nolint:containedctx // that of the call
	authorisation *authorisation
	row           authz.Row
}

// Receive implements connect.StreamingHandlerConn.
func (c *ownConn) Receive(message any) error {
	if err := c.StreamingHandlerConn.Receive(message); err != nil {
		return err
	}
	return c.authorisation.own(c.ctx, c.Spec().Procedure, c.row, message)
}

// Send implements connect.StreamingHandlerConn. Nothing is sent once the credential has ended.
func (c *ownConn) Send(message any) error {
	if reason := taken(c.ctx); reason != nil {
		return reason
	}
	return c.StreamingHandlerConn.Send(message)
}

// watchCredential ends the stream of a controller whose credential has ended.
func (a *authorisation) watchCredential(ctx context.Context, lasting authz.Lasting, end context.CancelCauseFunc) {
	for {
		timer := a.clock.NewTimer(lastsFor)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		if err := lasting.Ended(ctx, authz.IdentityFrom(ctx)); err != nil {
			end(&Error{Kind: KindOf(err), Message: publicText(err)})
			return
		}
	}
}

func isDenial(err error) bool {
	var denial *authz.DenialError
	return errors.As(err, &denial)
}
