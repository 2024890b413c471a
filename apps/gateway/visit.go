package gateway

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/browserguard"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Assertions tells apps who calls them, in tokens that the installation has signed; access has them.
type Assertions interface {
	Assert(ctx context.Context, caller authz.Identity, app string) (string, error)
}

// SignIn lets browsers sign in for apps; access has it. An app is known by its uid, and a browser at its host by a value that only
// that browser has.
type SignIn interface {
	// PageURL is where a browser signs in that returns to a path of the installation.
	PageURL(back string) string
	// SignInURL is where a browser signs in that returns to the host of an app, with a code.
	SignInURL(ctx context.Context, app, host, path, browser string) (string, error)
	// Enter exchanges the code for a cookie, which is empty if the code is not for this app and this browser, and the path.
	Enter(ctx context.Context, code, app, browser string) (cookie, path string, lifetime time.Duration, err error)
	// Visitor is who has such a cookie; anonymous if it is worth nothing.
	Visitor(ctx context.Context, cookie, app string) (authz.Identity, error)
}

// enterPath is where browsers bring their code to the host of an app. It is never the app's own.
const enterPath = "/.flyte/enter"

// How long a browser keeps what it is known by during a sign-in.
const loginLifetime = 15 * time.Minute

// visitors lets browsers sign in at the hosts of apps.
type visitors struct {
	signIn SignIn // nil where no one signs in
	secure bool
	// session and login are the names of the cookies at the host of an app: of who is signed in, and of a browser that is at the
	// sign-in. Cookies do not know ports, so the names have it.
	session, login string
}

func newVisitors(signIn SignIn, publicURL string) visitors {
	v := visitors{signIn: signIn, session: "flyte-app", login: "flyte-app-login"}
	at, err := url.Parse(publicURL)
	if err != nil {
		return v
	}
	if port := at.Port(); port != "" {
		v.session, v.login = v.session+"-"+port, v.login+"-"+port
	}
	if v.secure = at.Scheme == "https"; v.secure {
		v.session, v.login = "__Host-"+v.session, "__Host-"+v.login
	}
	return v
}

func (v visitors) set(w http.ResponseWriter, name, value string, lifetime time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is secure over TLS; without, browsers would not keep it
		Name: name, Value: value, Path: "/", Secure: v.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(lifetime / time.Second),
	})
}

func cookie(r *http.Request, name string) string {
	if r.Header["Cookie"] == nil {
		return ""
	}
	found, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return found.Value
}

// of is who has signed in at the host of the app; anonymous if the request is another credential's, or that of a page elsewhere.
func (v visitors) of(r *http.Request, x *exchange) (authz.Identity, error) {
	if v.signIn == nil || x.prefix != "" || r.Header.Get("Authorization") != "" {
		return authz.Identity{}, nil
	}
	value := cookie(r, v.session)
	if value == "" || !browserguard.Own(r.Method, r.Header) {
		return authz.Identity{}, nil
	}
	return v.signIn.Visitor(r.Context(), value, x.app.uid)
}

// leads answers a browser that shows a page and has to sign in first: it leads there. It reports whether it has.
func (v visitors) leads(w http.ResponseWriter, r *http.Request, x *exchange, refusal error) bool {
	if v.signIn == nil || rpc.KindOf(refusal) != rpc.KindUnauthenticated || r.Method != http.MethodGet || !showsPage(r) ||
		r.Header.Get("Authorization") != "" || x.route.GetPrivate() && !x.client.internal {
		return false
	}
	if shown := r.Header.Get("Sec-Fetch-Dest"); shown != "" && shown != "document" {
		return false // a page within a page
	}
	if x.prefix != "" {
		v.redirect(w, r, v.signIn.PageURL(withQuery(x.prefix+x.path, r.URL)))
		return true
	}
	browser := cookie(r, v.login) // of another tab, which may be at the sign-in as well
	if len(browser) != len(rand.Text()) {
		browser = rand.Text()
	}
	to, err := v.signIn.SignInURL(r.Context(), x.app.uid, r.Host, withQuery(x.path, r.URL), browser)
	if err != nil {
		refuse(w, r, err)
		return true
	}
	v.set(w, v.login, browser, loginLifetime)
	v.redirect(w, r, to)
	return true
}

func withQuery(path string, asked *url.URL) string {
	if asked.RawQuery != "" {
		path += "?" + asked.RawQuery
	}
	return path
}

// enters reports whether a browser brings a code to the host of an app that requires a caller.
func (v visitors) enters(r *http.Request, x *exchange) bool {
	return v.signIn != nil && x.prefix == "" && !x.route.GetAllowAnonymous() && r.Method == http.MethodGet && x.path == enterPath
}

// enter begins the session of a browser at the host of an app.
func (v visitors) enter(w http.ResponseWriter, r *http.Request, x *exchange) {
	value, path, lifetime, err := v.signIn.Enter(r.Context(), r.URL.Query().Get("code"), x.app.uid, cookie(r, v.login))
	if err == nil && value == "" {
		// The code was used before, maybe by the same browser, in which case the app is open to it now.
		var who authz.Identity
		if who, err = v.of(r, x); err == nil && who.Kind == authz.Anonymous {
			err = errStale
		}
		path = "/"
	}
	if err != nil {
		refuse(w, r, err)
		return
	}
	if value != "" {
		v.set(w, v.session, value, lifetime)
		v.set(w, v.login, "", -time.Second)
	}
	v.redirect(w, r, v.origin(r.Host)+path)
}

func (v visitors) origin(host string) string {
	if v.secure {
		if name, port, err := net.SplitHostPort(host); err == nil && port == "443" {
			host = name
		}
		return "https://" + host
	}
	return "http://" + host
}

func (visitors) redirect(w http.ResponseWriter, r *http.Request, to string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // the addresses are this installation's own, or paths of the app
}
