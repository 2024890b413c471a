package rpc

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// callerEvery is how often the task that has opened a stream is authenticated again.
const callerEvery = 5 * time.Second

// ends reports whether the caller of a stream is a task, which may end before the stream does: with its attempt. Calls in the process
// end with the call that they are made for.
func ends(ctx context.Context) (authz.Request, bool) {
	held, ok := ctx.Value(admittedKey{}).(*admitted)
	if !ok || isInternal(ctx) || authz.IdentityFrom(ctx).Kind != authz.Task {
		return authz.Request{}, false
	}
	return held.request, true
}

// watchCaller ends a stream once the credential of its caller is no longer valid. While no one can tell, the stream continues.
func (a *authorisation) watchCaller(ctx context.Context, request authz.Request, end context.CancelCauseFunc) {
	for clock.Sleep(ctx, a.clock, callerEvery) == nil {
		if _, err := a.gate.authenticator.Authenticate(ctx, request); KindOf(err) == KindUnauthenticated {
			end(&Error{Kind: KindUnauthenticated, Message: publicText(err)})
			return
		}
	}
}
