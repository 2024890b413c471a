package rpc

import (
	"context"
	"errors"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// watchRights asks again about everything that an open stream has named, each time the answers of the authoriser may have
// changed. It ends the stream when its caller has lost the right, and when the caller may see something else than before: the
// client subscribes again and gets what it may see now. changed is from before the first answer.
func (c *authorisedConn) watchRights(policy authz.Changing, changed <-chan struct{}, end context.CancelCauseFunc) {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-changed:
		}
		changed = policy.Changed() // before the question, so that no change is missed
		if err := c.askAgain(); err != nil {
			end(err)
			return
		}
	}
}

// askAgain returns an *Error when the answers are not those of before.
func (c *authorisedConn) askAgain() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for resource, before := range c.decided {
		scope, err := c.authorisation.One(c.ctx, c.row.Rule(), resource)
		if err != nil {
			c.refused = refusalIn(err)
			return &Error{Kind: KindOf(err), Message: publicText(err)}
		}
		if !scope.Equal(before) {
			return Unavailable(nil, "what you may see has changed; subscribe again")
		}
	}
	return nil
}

// taken is the reason for which the stream was ended by watchRights; nil while it may continue.
func taken(ctx context.Context) error {
	var reason *Error
	if errors.As(context.Cause(ctx), &reason) {
		return reason
	}
	return nil
}
