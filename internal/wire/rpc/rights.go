package rpc

import (
	"context"
	"errors"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// lastsFor is how often it is asked whether the credential of an open stream has ended.
const lastsFor = 3 * time.Second

// logsOutlive is for how long a stream of a log continues after the token with which it began has expired. Clients cannot continue a
// log where it ended, and the SDK gives up the second time. Rights that are taken away end it like any other stream.
const logsOutlive = 24 * time.Hour

// changes returns what tells that the answers of the authoriser may have changed, and the channel that does so next; a nil channel of
// an authoriser whose answers never change.
func (a *authorisation) changes() (after func() <-chan struct{}, changed <-chan struct{}) {
	if policy, ok := a.Authoriser.(authz.Changing); ok {
		return policy.Changed, policy.Changed()
	}
	return func() <-chan struct{} { return nil }, nil
}

// lasting knows when the credential of a caller ends; nil for one without an end. Calls within the process end with the call that
// they are made for.
func (a *authorisation) lasting(ctx context.Context) authz.Lasting {
	lasting, _ := a.gate.authenticator.(authz.Lasting)
	switch authz.IdentityFrom(ctx).Kind { //nolint:exhaustive // the credentials of all others have no end
	case authz.User, authz.Key, authz.Task, authz.Cluster:
		if !isInternal(ctx) {
			return lasting
		}
	}
	return nil
}

// watchRights asks again about everything that an open stream has named, each time the answers of the authoriser may have
// changed. It ends the stream when its caller has lost the right, and when the caller may see something else than before: the
// client subscribes again and gets what it may see now. It also ends the stream of a caller whose session, key or attempt has ended. changed is
// from before the first answer, and after returns what follows it.
func (c *authorisedConn) watchRights(lasting authz.Lasting, after func() <-chan struct{}, changed <-chan struct{}, end context.CancelCauseFunc) {
	for {
		timer := c.authorisation.clock.NewTimer(lastsFor)
		due := timer.C()
		if lasting == nil {
			due = nil
		}
		var err error
		select {
		case <-c.ctx.Done():
			timer.Stop()
			return
		case <-due:
		case <-changed:
			changed = after() // before the question, so that no change is missed
			err = c.askAgain()
		}
		timer.Stop()
		if lasting != nil && err == nil {
			err = c.ended(lasting)
		}
		if err != nil {
			end(err)
			return
		}
	}
}

// ended returns an *Error once the credential of the caller has ended.
func (c *authorisedConn) ended(lasting authz.Lasting) error {
	identity := authz.IdentityFrom(c.ctx)
	if !identity.Until.IsZero() && c.row.Rule().Action == "log.view" {
		identity.Until = identity.Until.Add(logsOutlive)
	}
	err := lasting.Ended(c.ctx, identity)
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = refusalIn(err)
	return &Error{Kind: KindOf(err), Message: publicText(err)}
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
