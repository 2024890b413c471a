package signin

import (
	"context"
	"net/http"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// permission is what events of the record name a sign-in by.
const permission = "identity.authenticate"

// change makes what a person does on the pages. The transaction of the change stores the record of it; without the record there is no
// change.
func (p *Pages) change(r *http.Request, who sessions.Session, procedure string, do func(ctx context.Context) error) error {
	if p.Auditor == nil {
		return do(r.Context())
	}
	ctx := authz.WithIdentity(r.Context(), who.Person.Identity(who.ID))
	ctx, end, err := p.Auditor.Begin(ctx, entryOf(r, authz.Entry{Request: authz.Request{Procedure: procedure}}))
	if err != nil {
		return err
	}
	err = do(ctx)
	switch {
	case end == nil:
	case err != nil:
		end(authz.Failed, err)
	default:
		end(authz.Succeeded, nil)
	}
	return err
}

// recordRefused records that the name or the password of an account was wrong.
func (p *Pages) recordRefused(r *http.Request, account string, err error) {
	if p.Auditor == nil {
		return
	}
	p.Auditor.Record(authz.WithIdentity(r.Context(), authz.Identity{}), entryOf(r, authz.Entry{
		// The auditor keeps what was refused only of callers who presented a credential; this one did, in the form.
		Request:   authz.Request{Procedure: Page, Header: http.Header{"Authorization": {"password"}}},
		Resources: []authz.Resource{{Kind: "account", Name: account}}, Outcome: authz.Refused, Err: err,
	}))
}

// entryOf completes an entry with where a request comes from.
func entryOf(r *http.Request, entry authz.Entry) authz.Entry {
	if entry.Request.Header == nil {
		entry.Request.Header = http.Header{}
	}
	entry.Request.Header.Set("User-Agent", r.UserAgent())
	entry.Request.Header.Set("X-Request-Id", r.Header.Get("X-Request-Id"))
	entry.Request.Peer, entry.Request.Method, entry.Rule.Action = r.RemoteAddr, r.Method, permission
	return entry
}
