package signin

import (
	"net/http"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// permission is what events of the record name a sign-in by.
const permission = "identity.authenticate"

// record hands what a person did on the pages to the auditor.
func (p *Pages) record(r *http.Request, who sessions.Session, procedure string) {
	p.entry(r, who.Person.Identity(who.ID), authz.Entry{Request: authz.Request{Procedure: procedure}, Outcome: authz.Succeeded})
}

// recordRefused records that the name or the password of an account was wrong.
func (p *Pages) recordRefused(r *http.Request, account string, err error) {
	p.entry(r, authz.Identity{}, authz.Entry{
		// The auditor keeps what was refused only of callers who presented a credential; this one did, in the form.
		Request:   authz.Request{Procedure: Page, Header: http.Header{"Authorization": {"password"}}},
		Resources: []authz.Resource{{Kind: "account", Name: account}}, Outcome: authz.Refused, Err: err,
	})
}

func (p *Pages) entry(r *http.Request, who authz.Identity, entry authz.Entry) {
	if p.Auditor == nil {
		return
	}
	if entry.Request.Header == nil {
		entry.Request.Header = http.Header{}
	}
	entry.Request.Header.Set("User-Agent", r.UserAgent())
	entry.Request.Peer, entry.Request.Method, entry.Rule.Action = r.RemoteAddr, r.Method, permission
	p.Auditor.Record(authz.WithIdentity(r.Context(), who), entry)
}
