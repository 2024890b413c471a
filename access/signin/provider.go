package signin

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"github.com/flyte-binary/flyte-binary/access/providers"
	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/store"
)

// away is a browser that signs in at a provider.
type away struct {
	destination
	Provider string `json:"provider"`
	Browser  string `json:"browser"` // the cookie of that browser
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

func (p *Pages) provider(name string) *providers.Provider {
	for _, one := range p.Providers {
		if one.Name() == name {
			return one
		}
	}
	return nil
}

// toProvider sends the browser to a provider.
func (p *Pages) toProvider(w http.ResponseWriter, r *http.Request) {
	provider := p.provider(r.FormValue("name"))
	if provider == nil {
		http.NotFound(w, r)
		return
	}
	login := providers.Login{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	leaving := away{destinationOf(r), provider.Name(), rand.Text(), login.Nonce, login.Verifier}
	to, err := provider.LoginURL(r.Context(), login)
	if err == nil {
		err = p.Store.BeginGrant(r.Context(), r.RemoteAddr, store.GrantLogin, login.State, leaving, loginLifetime)
	}
	if err != nil {
		p.providerFailed(w, r, err)
		return
	}
	p.cookies.set(w, loginCookie, leaving.Browser, loginLifetime)
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// fromProvider is where a provider sends the browser back. The state is used once, and only by the browser that left.
func (p *Pages) fromProvider(w http.ResponseWriter, r *http.Request) {
	state := r.FormValue("state")
	var leaving away
	found, err := p.Store.TakeGrant(r.Context(), store.GrantLogin, state, &leaving)
	if err != nil {
		p.broken(w, r, err)
		return
	}
	browser := p.cookies.read(r.Header, loginCookie)
	p.cookies.set(w, loginCookie, "", -time.Second)
	provider := p.provider(leaving.Provider)
	if !found || provider == nil || subtle.ConstantTimeCompare([]byte(browser), []byte(leaving.Browser)) != 1 {
		p.form(w, r, destination{}, sessions.Session{}, false, "This sign-in has expired, or was begun in another browser. Try again.")
		return
	}
	if refusal := r.FormValue("error"); refusal != "" {
		p.warn("refusal of "+provider.Name()).Str("issuer", provider.Name()).Str("error", refusal).Str("description", r.FormValue("error_description")).Msg("sign-in refused")
		p.form(w, r, leaving.destination, sessions.Session{}, false, provider.Name()+" did not sign you in: "+refusal+" "+r.FormValue("error_description"))
		return
	}
	person, err := provider.Finish(r.Context(), providers.Login{State: state, Nonce: leaving.Nonce, Verifier: leaving.Verifier}, r.FormValue("code"))
	if err != nil {
		p.providerFailed(w, r, err)
		return
	}
	p.enter(w, r, person, leaving.destination)
}

// providerFailed says why signing in at a provider does not work.
func (p *Pages) providerFailed(w http.ResponseWriter, r *http.Request, err error) {
	p.fail("provider").Err(err).Msg("sign-in at a provider failed")
	shown := &page{status: http.StatusBadGateway, title: "The identity provider does not work"}
	unreachable, clocks := new(providers.UnreachableError), new(providers.ClockError)
	switch {
	case errors.As(err, &unreachable):
		shown.add(`<p>`, text(unreachable.Provider), ` does not answer. Who is signed in stays signed in; signing in works again when it answers.</p>`)
	case errors.As(err, &clocks):
		shown.title = "The clocks do not agree"
		shown.add(`<p>`, text(clocks.Provider), ` has signed you in, but its answer cannot be accepted: `, text(clocks.Error()),
			`. Tell an administrator of this installation.</p>`)
	default:
		shown.add(`<p>It answered, but its answer cannot be accepted. The log of the server says why.</p>`)
	}
	shown.add(`<a class="button" href="`, text(Page+"?"+destinationOf(r).query()), `">Back</a>`)
	shown.write(w)
}
