// Package signin is the pages on which people sign in and out, and the session of their browser.
package signin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access/accounts"
	"github.com/flyte-binary/flyte-binary/access/authserver"
	"github.com/flyte-binary/flyte-binary/access/providers"
	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/access/visitors"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/browserguard"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// The paths of the pages.
const (
	Path         = "/access/"
	Page         = "/access/sign-in"
	DevicePage   = "/access/device"
	CallbackPath = "/access/callback"
	SignOutPath  = "/access/sign-out"
	approvePath  = "/access/approve"
	providerPath = "/access/provider"
	leftPath     = "/access/signed-out"
)

// Console is the client of the sessions of browsers.
const Console = "console"

// The cookies: of a session, and of a browser that is at a provider.
const (
	sessionCookie = "session"
	loginCookie   = "login"
)

// loginLifetime is how long signing in at a provider may take.
const loginLifetime = 15 * time.Minute

// maxForm bounds the bodies of requests, in bytes.
const maxForm = 16 << 10

// Deps are the dependencies of the pages.
type Deps struct {
	Store     *store.Store
	Sessions  *sessions.Sessions
	Accounts  *accounts.Accounts // nil without local accounts
	Providers []*providers.Provider
	Server    *authserver.Server
	// Visitors lets browsers sign in at the hosts of apps.
	Visitors *visitors.Visitors
	// Vouched is whom the proxy in front of the installation vouches for.
	Vouched func(ctx context.Context, request authz.Request) (person sessions.Person, vouched bool, err error)
	// URL is the public URL of the installation.
	URL string
	// Lifetime is how long browsers keep the cookie of a session.
	Lifetime time.Duration
	// Auditor records who signed in and out; nil records nothing.
	Auditor authz.Beginning
	Clock   clock.Clock
	Log     zerolog.Logger
}

// Pages serves the pages.
type Pages struct {
	Deps
	cookies cookies
	lines   *loglimit.Limit
}

// New returns the pages.
func New(deps Deps) *Pages { return &Pages{deps, cookiesAt(deps.URL), loglimit.New(deps.Clock)} }

// Handler serves everything below Path, and the authorization server.
func (p *Pages) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(authserver.Path, p.Server.Handler())
	mux.HandleFunc("GET "+Page, p.show)
	mux.HandleFunc("POST "+Page, p.password)
	mux.HandleFunc("POST "+approvePath, p.approve)
	mux.HandleFunc("GET "+providerPath, p.toProvider)
	mux.HandleFunc("GET "+CallbackPath, p.fromProvider)
	mux.HandleFunc("GET "+DevicePage, p.device)
	mux.HandleFunc("POST "+DevicePage, p.answerDevice)
	mux.HandleFunc("GET "+visitors.Page, p.app)
	mux.HandleFunc("POST "+SignOutPath, p.signOut)
	mux.HandleFunc("GET "+leftPath, p.left)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		mux.ServeHTTP(w, r)
	})
}

// Authenticate is the caller whose browser has a session; anonymous for other callers. A page of another site cannot use the
// session: the browser says that the request is from there.
func (p *Pages) Authenticate(ctx context.Context, request authz.Request) (authz.Identity, error) {
	token := p.cookies.read(request.Header, sessionCookie)
	if token == "" || !browserguard.Own(request.Method, request.Header) {
		return authz.Identity{}, nil
	}
	session, found, err := p.Sessions.ByToken(ctx, token)
	switch {
	case err != nil:
		return authz.Identity{}, rpc.Unavailable(err, "cannot read the session; try again")
	case !found || session.Client != Console:
		return authz.Identity{}, rpc.Unauthenticated("the session has ended; sign in again")
	}
	return session.Person.Identity(session.ID), nil
}

// session is that of the browser.
func (p *Pages) session(r *http.Request) (sessions.Session, bool, error) {
	token := p.cookies.read(r.Header, sessionCookie)
	if token == "" {
		return sessions.Session{}, false, nil
	}
	session, found, err := p.Sessions.ByToken(r.Context(), token)
	return session, found && session.Client == Console, err
}

// destination is where a person goes after the sign-in: to a client that waits, or to a page.
type destination struct {
	Request string `json:"request,omitempty"`
	Return  string `json:"return,omitempty"`
}

func destinationOf(r *http.Request) destination {
	return destination{Request: r.FormValue("request"), Return: r.FormValue("return")}
}

func (d destination) query() string {
	values := url.Values{}
	if d.Request != "" {
		values.Set("request", d.Request)
	} else if d.Return != "" {
		values.Set("return", d.Return)
	}
	return values.Encode()
}

// begin begins the session of a person in the browser. A person who is signed in there already keeps the session, with another token: the
// command line may ask twice at once, and the second sign-in must not end what the first has approved. Another person's session ends.
func (p *Pages) begin(r *http.Request, person sessions.Person) (session sessions.Session, token string, err error) {
	before, found, err := p.session(r)
	if err == nil && found && before.Person.Subject == person.Subject {
		err = p.change(r, sessions.Session{ID: before.ID, Person: person}, Page, func(ctx context.Context) error {
			if session, token, err = p.Sessions.Renew(ctx, before, person); err != nil {
				return err
			}
			return p.Store.OwnerSignedIn(ctx, person.Subject, person.Groups)
		})
		if !errors.Is(err, store.ErrEnded) {
			return session, token, err
		}
	} else if err == nil && found {
		// It expires if it cannot be ended now.
		_ = p.change(r, before, SignOutPath, func(ctx context.Context) error { return p.Sessions.End(ctx, before.ID) })
	}
	id := sessions.NewID()
	err = p.change(r, sessions.Session{ID: id, Person: person}, Page, func(ctx context.Context) error {
		if session, token, err = p.Sessions.Begin(ctx, id, Console, person); err != nil {
			return err
		}
		return p.Store.OwnerSignedIn(ctx, person.Subject, person.Groups)
	})
	return session, token, err
}

// enter begins the session of a person in the browser, in place of one that is there, and leads to the destination.
func (p *Pages) enter(w http.ResponseWriter, r *http.Request, person sessions.Person, to destination) {
	session, token, err := p.begin(r, person)
	switch {
	case errors.Is(err, store.ErrNone): // the account was removed meanwhile
		p.form(w, r, to, sessions.Session{}, false, accounts.ErrRefused.Error())
		return
	case err != nil:
		p.broken(w, r, err)
		return
	}
	p.Log.Info().Str("subject", person.Subject).Str("issuer", person.Issuer).Str("session", session.ID).Str("peer", r.RemoteAddr).Msg("signed in")
	p.cookies.set(w, sessionCookie, token, p.Lifetime)
	if to.Request != "" {
		p.answerRequest(w, r, to.Request, session)
		return
	}
	http.Redirect(w, r, local(to.Return), http.StatusSeeOther)
}

// answerRequest gives the client that waits its code.
func (p *Pages) answerRequest(w http.ResponseWriter, r *http.Request, request string, by sessions.Session) {
	var redirect string
	err := p.change(r, by, approvePath, func(ctx context.Context) error {
		to, found, err := p.Server.Approve(ctx, request, by)
		redirect = to
		return errors.Join(err, goneUnless(found || err != nil))
	})
	if errors.Is(err, errGone) {
		p.gone(w)
		return
	}
	p.toClient(w, r, redirect, true, err)
}

// toClient leads back to the client that waits, with the answer to its request; found says whether the request still waits.
func (p *Pages) toClient(w http.ResponseWriter, r *http.Request, redirect string, found bool, err error) {
	switch {
	case err != nil:
		p.broken(w, r, err)
	case !found:
		p.gone(w)
	default:
		http.Redirect(w, r, redirect, http.StatusSeeOther) //nolint:gosec // to a URI that the client has registered
	}
}

// show is the sign-in page. Who is signed in is asked whether the client that waits may act for them.
func (p *Pages) show(w http.ResponseWriter, r *http.Request) {
	to := destinationOf(r)
	session, signedIn, err := p.session(r)
	if err != nil {
		p.broken(w, r, err)
		return
	}
	if signedIn && to.Request == "" {
		http.Redirect(w, r, local(to.Return), http.StatusSeeOther)
		return
	}
	if !signedIn && p.throughProxy(w, r, to) {
		return
	}
	p.form(w, r, to, session, signedIn, "")
}

func (p *Pages) form(w http.ResponseWriter, r *http.Request, to destination, session sessions.Session, signedIn bool, problem string) {
	shown := &page{title: "Sign in"}
	if problem != "" {
		shown.status = http.StatusUnauthorized
	}
	shown.alert(problem)
	shown.formTo = p.appOrigin(r, to)
	if to.Request != "" {
		request, waits, err := p.Server.Waiting(r.Context(), to.Request)
		if err != nil {
			p.broken(w, r, err)
			return
		}
		if !waits {
			p.gone(w)
			return
		}
		if at, err := url.Parse(request.RedirectURI); err == nil {
			shown.formTo = at.Scheme + "://" + at.Host
		}
		if signedIn {
			shown.add(`<p>The Flyte command line on this machine asks to act as <b>`, text(display(session.Person)), `</b>.</p>`,
				`<form method="post" action="`, approvePath, `">`)
			shown.hidden("request", to.Request)
			shown.add(`<button class="main" name="answer" value="allow">Allow</button><button name="answer" value="deny">Deny</button></form><hr><p>Or sign in as another person:</p>`)
		} else {
			shown.add(`<p>The Flyte command line on this machine asks you to sign in.</p>`)
		}
	}
	p.choices(shown, to)
	shown.write(w)
}

// choices adds the ways to sign in.
func (p *Pages) choices(shown *page, to destination) {
	for _, provider := range p.Providers {
		query := url.Values{"name": {provider.Name()}}
		link := providerPath + "?" + query.Encode()
		if more := to.query(); more != "" {
			link += "&" + more
		}
		shown.add(`<a class="button main" href="`, text(link), `">Continue with `, text(provider.Name()), `</a>`)
	}
	if p.Accounts == nil {
		if len(p.Providers) == 0 {
			shown.add(`<p>Open this page through the proxy that authenticates people here.</p>`)
		}
		return
	}
	if len(p.Providers) > 0 {
		shown.add(`<hr>`)
	}
	shown.add(`<form method="post" action="`, Page, `">`)
	shown.hidden("request", to.Request)
	shown.hidden("return", to.Return)
	shown.add(`<label for="name">Name</label><input id="name" name="name" autocomplete="username" autocapitalize="none" required autofocus>`,
		`<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required>`,
		`<button class="main">Sign in</button></form>`)
}

// display is how a person is named on pages.
func display(person sessions.Person) string {
	if person.Name == "" || person.Name == person.Subject {
		return person.Subject
	}
	return person.Name + " (" + person.Subject + ")"
}

// password signs in with a local account.
func (p *Pages) password(w http.ResponseWriter, r *http.Request) {
	to := destinationOf(r)
	if p.Accounts == nil {
		http.NotFound(w, r)
		return
	}
	name := strings.TrimSpace(r.PostFormValue("name"))
	person, err := p.Accounts.SignIn(r.Context(), name, r.PostFormValue("password"))
	switch {
	case errors.Is(err, accounts.ErrRefused):
		p.warn("password").Str("account", name).Str("peer", r.RemoteAddr).Msg("sign-in refused")
		p.recordRefused(r, name, err)
		p.form(w, r, to, sessions.Session{}, false, err.Error())
	case err != nil:
		p.broken(w, r, err)
	default:
		p.enter(w, r, person, to)
	}
}

// approve is the answer of who is signed in to a client that waits.
func (p *Pages) approve(w http.ResponseWriter, r *http.Request) {
	request := r.PostFormValue("request")
	session, signedIn, err := p.session(r)
	switch {
	case err != nil:
		p.broken(w, r, err)
	case !signedIn:
		http.Redirect(w, r, Page+"?"+destination{Request: request}.query(), http.StatusSeeOther)
	case r.PostFormValue("answer") == "allow":
		p.answerRequest(w, r, request, session)
	default:
		redirect, found, err := p.Server.Deny(r.Context(), request)
		p.toClient(w, r, redirect, found, err)
	}
}

// signOut ends the session of the browser, and that at the provider where it can. The console asks for the next page as JSON: the
// policy of its pages allows no forms, and none that lead to a provider.
func (p *Pages) signOut(w http.ResponseWriter, r *http.Request) {
	session, signedIn, err := p.session(r)
	if err == nil && signedIn {
		err = p.change(r, session, SignOutPath, func(ctx context.Context) error { return p.Sessions.End(ctx, session.ID) })
	}
	if err != nil {
		p.broken(w, r, err)
		return
	}
	p.cookies.set(w, sessionCookie, "", -time.Second)
	to := leftPath
	for _, provider := range p.Providers {
		if signedIn && provider.Name() == session.Person.Issuer {
			if elsewhere := provider.SignOutURL(r.Context(), session.Person.IDToken, p.URL+leftPath); elsewhere != "" {
				to = elsewhere
			}
		}
	}
	if r.Header.Get("Accept") == "application/json" {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		// A failed write means that the client has gone.
		_ = json.NewEncoder(w).Encode(map[string]string{"to": to})
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (p *Pages) left(w http.ResponseWriter, _ *http.Request) {
	shown := &page{title: "You have signed out"}
	shown.add(`<a class="button main" href="`, Page, `">Sign in again</a>`)
	shown.write(w)
}

// errGone says that no client and no device waits for the answer of a person.
var errGone = errors.New("nothing waits for this answer")

func goneUnless(found bool) error {
	if found {
		return nil
	}
	return errGone
}

// gone answers for a request that waits no more.
func (p *Pages) gone(w http.ResponseWriter) {
	shown := &page{status: http.StatusGone, title: "This sign-in has expired"}
	shown.add(`<p>It was answered already, or waited for more than a quarter of an hour. Start the command again.</p>`)
	shown.write(w)
}

// broken answers for a failure of the server.
func (p *Pages) broken(w http.ResponseWriter, r *http.Request, err error) {
	id := rand.Text()[:8]
	p.fail(r.URL.Path).Err(err).Str("path", r.URL.Path).Str("id", id).Msg("sign-in failed")
	shown := &page{status: http.StatusServiceUnavailable, title: "Signing in does not work at the moment"}
	shown.add(`<p>Try again in a moment. The log of the server has the cause under `, text(id), `.</p>`)
	shown.write(w)
}
