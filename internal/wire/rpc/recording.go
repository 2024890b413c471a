package rpc

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// recording is what the auditor learns of one call of a procedure.
type recording struct {
	authorisation *authorisation
	rule          authz.Rule
	resources     []authz.Resource
	// outcome is set for a call whose error does not tell that it was refused.
	outcome authz.Outcome
	ended   func(authz.Outcome, error) // of a call that was recorded before it was handled
}

// entry is the call as it is known now; ok is false for what is not recorded.
func (r *recording) entry(ctx context.Context) (entry authz.Entry, ok bool) {
	call, ok := ctx.Value(admittedKey{}).(*admitted)
	if !ok || r.rule.By.Open() {
		return authz.Entry{}, false
	}
	return authz.Entry{Request: call.request, Rule: r.rule, Resources: r.resources, Outcome: r.outcome}, true
}

// begin is called before an allowed call is handled, with the context that it returns; a call that cannot be recorded is not.
func (r *recording) begin(ctx context.Context) (handled context.Context, err error) {
	entry, ok := r.entry(ctx)
	if !ok {
		return ctx, nil
	}
	handled, r.ended, err = r.authorisation.audit.begin(ctx, entry)
	return handled, err
}

// end is called once, with the error for the client.
func (r *recording) end(ctx context.Context, err error) {
	if r.ended != nil {
		r.ended(outcomeOf(err), err)
		return
	}
	if entry, ok := r.entry(ctx); ok {
		entry.Err = err
		r.authorisation.audit.record(ctx, entry)
	}
}
