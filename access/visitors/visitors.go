// Package visitors is what apps need of access control: a browser that signs in at the console gets a session at the host of an
// app, which is worth nothing elsewhere, and an app learns who calls it from a token that the installation has signed.
package visitors

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/signing"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// Page is the page of the installation to which the host of an app sends browsers.
	Page = "/access/app"
	// enterPath is where browsers bring a code to the host of an app; apps/gateway serves it.
	enterPath = "/.flyte/enter"
)

// How long a browser may take for the sign-in, and how long it may then take to bring the code to the host of the app.
const (
	ticketLifetime = 15 * time.Minute
	codeLifetime   = time.Minute
)

// The audiences of what the package signs for itself. Those of sessions continue with the uid of their app.
const (
	ticketAudience  = "sign-in"
	sessionAudience = "app "
)

// maxPath bounds the path that a ticket has, in bytes. Browsers return to the root of the app from longer ones.
const maxPath = 2 << 10

// Deps are the dependencies. All are required.
type Deps struct {
	Store    *store.Store
	Sessions *sessions.Sessions
	// Client is the client of the sessions that count: those of the console.
	Client string
	Clock  clock.Clock
	// URL is the public URL of the installation.
	URL string
}

// Visitors lets browsers sign in at the hosts of apps. It has no sessions of its own: what a browser has at an app names its
// session at the console, and ends with that.
type Visitors struct {
	Deps
	ring *signing.Ring
}

// New returns the visitors of an installation.
func New(deps Deps) *Visitors {
	return &Visitors{deps, signing.NewRing(signing.Config{
		Purpose: "app session", Rotate: 90 * 24 * time.Hour, Keep: 30 * 24 * time.Hour,
		Make: func() ([]byte, error) {
			key := make([]byte, sha256.Size)
			_, _ = rand.Read(key) // never fails
			return key, nil
		},
	}, deps.Store, deps.Clock)}
}

// Visit is a browser that wants to sign in at the host of an app.
type Visit struct {
	// App is the uid of the app, Host its host without the port, and Path where the browser was, with the query.
	App, Host, Path string
	// Browser is the hash of what the browser has at that host.
	Browser string
}

// claims are those of a ticket, which has a visit, or of a session at an app.
type claims struct {
	jwt.Claims
	App     string `json:"app,omitempty"`
	Host    string `json:"host,omitempty"`
	Path    string `json:"path,omitempty"`
	Browser string `json:"browser,omitempty"`
	Session string `json:"sid,omitempty"`
}

// hashed keeps what a browser has at an app out of addresses.
func hashed(browser string) string {
	sum := sha256.Sum256([]byte(browser))
	return hex.EncodeToString(sum[:])
}

// SignInURL is where a browser signs in for an app at a host. The browser is known there by a value that only it has.
func (v *Visitors) SignInURL(ctx context.Context, app, host, path, browser string) (string, error) {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if len(path) > maxPath || !strings.HasPrefix(path, "/") {
		path = "/"
	}
	ticket, err := v.sign(ctx, claims{
		Claims: jwt.Claims{Audience: jwt.Audience{ticketAudience}, Expiry: jwt.NewNumericDate(v.Clock.Now().Add(ticketLifetime))},
		App:    app, Host: host, Path: path, Browser: hashed(browser),
	})
	if err != nil {
		return "", err
	}
	return v.URL + Page + "?" + url.Values{"ticket": {ticket}}.Encode(), nil
}

// PageURL is the sign-in page from which a browser returns to a path of the installation itself.
func (v *Visitors) PageURL(back string) string {
	return v.URL + "/access/sign-in?" + url.Values{"return": {back}}.Encode()
}

// Open reads the ticket of a visit. valid is false if the installation has not made it, or too long ago.
func (v *Visitors) Open(ctx context.Context, ticket string) (visit Visit, valid bool, err error) {
	c, valid, err := v.verify(ctx, ticket, ticketAudience)
	return Visit{App: c.App, Host: c.Host, Path: c.Path, Browser: c.Browser}, valid, err
}

// entry is what a code is good for.
type entry struct {
	Visit
	Session string
}

// Origin is the origin of the host of a visit, as browsers know it: all hosts share the scheme and the port of the installation.
func (v *Visitors) Origin(visit Visit) string {
	at, err := url.Parse(v.URL)
	if err != nil {
		return ""
	}
	host := visit.Host
	if port := at.Port(); port != "" {
		host = net.JoinHostPort(host, port)
	}
	return at.Scheme + "://" + host
}

// Admit gives the session of the console a code for the host of the visit, and returns the address that brings it there.
func (v *Visitors) Admit(ctx context.Context, visit Visit, session string) (string, error) {
	code := rand.Text() + rand.Text()
	if err := v.Store.PutGrant(ctx, store.GrantAppCode, code, entry{visit, session}, codeLifetime); err != nil {
		return "", err
	}
	return v.Origin(visit) + enterPath + "?" + url.Values{"code": {code}}.Encode(), nil
}

// Enter takes a code, which is used up, and returns the value by which the browser is known at the app, for how long, and the path
// where the browser was. The value is empty for a code that is not for this app and this browser, or has expired.
func (v *Visitors) Enter(ctx context.Context, code, app, browser string) (cookie, path string, lifetime time.Duration, err error) {
	var e entry
	found, err := v.Store.TakeGrant(ctx, store.GrantAppCode, code, &e)
	if err != nil {
		return "", "", 0, rpc.Unavailable(err, "the code of the sign-in cannot be read; try again")
	}
	if !found || e.App != app || browser == "" || e.Browser != hashed(browser) {
		return "", "", 0, nil
	}
	session, found, err := v.Sessions.ByID(ctx, e.Session)
	if err != nil {
		return "", "", 0, rpc.Unavailable(err, "cannot read the session; try again")
	}
	if !found {
		return "", "", 0, nil
	}
	cookie, err = v.sign(ctx, claims{
		Claims:  jwt.Claims{Audience: jwt.Audience{sessionAudience + app}, Expiry: jwt.NewNumericDate(session.ExpiresAt)},
		Session: session.ID,
	})
	return cookie, e.Path, session.ExpiresAt.Sub(v.Clock.Now()), err
}

// Visitor is who has a cookie at an app; anonymous if the cookie is for another one, or its session at the console has ended.
func (v *Visitors) Visitor(ctx context.Context, cookie, app string) (authz.Identity, error) {
	c, valid, err := v.verify(ctx, cookie, sessionAudience+app)
	if err != nil {
		return authz.Identity{}, rpc.Unavailable(err, "the session at the app cannot be checked; try again")
	}
	if !valid {
		return authz.Identity{}, nil
	}
	session, found, err := v.Sessions.ByID(ctx, c.Session)
	switch {
	case err != nil:
		return authz.Identity{}, rpc.Unavailable(err, "cannot read the session; try again")
	case !found || session.Client != v.Client:
		return authz.Identity{}, nil
	}
	return session.Person.Identity(session.ID), nil
}

func (v *Visitors) sign(ctx context.Context, c claims) (string, error) {
	key, err := v.ring.Signer(ctx)
	if err != nil {
		return "", rpc.Unavailable(err, "the key of the sign-in cannot be read; try again")
	}
	return serialised(jose.HS256, key.Private(), key.ID, "JWT", c)
}

// serialised is a signed token.
func serialised(algorithm jose.SignatureAlgorithm, key any, id, kind string, claims any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType(jose.ContentType(kind)).WithHeader("kid", id))
	if err != nil {
		return "", fmt.Errorf("sign a token for an app: %w", err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign a token for an app: %w", err)
	}
	return token, nil
}

// verify reads what sign has made. An error says that the keys cannot be read.
func (v *Visitors) verify(ctx context.Context, token, audience string) (c claims, valid bool, err error) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.HS256})
	if err != nil || len(parsed.Headers) != 1 {
		return claims{}, false, nil //nolint:nilerr // not one of these tokens
	}
	key, known, err := v.ring.Verifier(ctx, parsed.Headers[0].KeyID)
	if err != nil {
		return claims{}, false, err
	}
	if !known || parsed.Claims(key.Private(), &c) != nil || c.Expiry == nil {
		return claims{}, false, nil //nolint:nilerr // nor is this
	}
	// ValidateWithLeeway leaves out what is not expected, so the time must be.
	if c.ValidateWithLeeway(jwt.Expected{AnyAudience: jwt.Audience{audience}, Time: v.Clock.Now()}, 0) != nil {
		return claims{}, false, nil //nolint:nilerr // it has expired, or is for another purpose
	}
	return c, true, nil
}
