package signin

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/flyte-binary/flyte-binary/access/visitors"
)

// app is where the host of an app sends a browser. Who is signed in gets a code for that host; others sign in first.
func (p *Pages) app(w http.ResponseWriter, r *http.Request) {
	ticket := r.FormValue("ticket")
	visit, valid, err := p.Visitors.Open(r.Context(), ticket)
	if err != nil {
		p.broken(w, r, err)
		return
	}
	if !valid {
		shown := &page{status: http.StatusGone, title: "This sign-in has expired"}
		shown.add(`<p>It waited for more than a quarter of an hour. Open the app again.</p>`)
		shown.write(w)
		return
	}
	session, signedIn, err := p.session(r)
	if err == nil && !signedIn {
		back := visitors.Page + "?" + url.Values{"ticket": {ticket}}.Encode()
		http.Redirect(w, r, Page+"?"+destination{Return: back}.query(), http.StatusSeeOther)
		return
	}
	to := ""
	if err == nil {
		err = p.change(r, session, visitors.Page, func(ctx context.Context) (err error) {
			to, err = p.Visitors.Admit(ctx, visit, session.ID)
			return err
		})
	}
	if err != nil {
		p.broken(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, to, http.StatusSeeOther) // to the host of an app, which a gateway has named in the ticket
}

// appOrigin is the origin of the app to which a destination leads; empty if it leads to none. Browsers follow the redirects of a
// form only to origins that the page names.
func (p *Pages) appOrigin(r *http.Request, to destination) string {
	query, leads := strings.CutPrefix(to.Return, visitors.Page+"?")
	if !leads {
		return ""
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return ""
	}
	visit, valid, err := p.Visitors.Open(r.Context(), values.Get("ticket"))
	if err != nil || !valid {
		return ""
	}
	return p.Visitors.Origin(visit)
}
