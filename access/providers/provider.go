// Package providers signs people in at the identity providers of the configuration, by OpenID Connect, and accepts the tokens that
// these issue.
package providers

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Config is a provider. All fields but ClientSecret, Audiences and Prefix are required.
type Config struct {
	// Name is for people, and part of subjects.
	Name, URL, ClientID, ClientSecret string
	Scopes                            []string
	// Audiences are accepted in tokens of programs, in addition to ClientID.
	Audiences []string
	Claims    ClaimNames
	// RedirectURL is where the provider sends people back.
	RedirectURL string
	// Prefix is put before each subject; Reserved are beginnings that a subject without a prefix must not have, because they are
	// those of other sources.
	Prefix   string
	Reserved []string
}

// answerTimeout bounds each call to a provider.
const answerTimeout = 10 * time.Second

// Provider is an identity provider. Its metadata is read on first use, so that the server starts while the provider is down.
type Provider struct {
	config    Config
	clock     clock.Clock
	client    *http.Client
	documents *http.Client // reads its metadata and keys

	asking sync.Mutex // held while its metadata is read
	mu     sync.Mutex
	known  *oidc.Provider // GUARDED_BY(mu): nil until it was reached
	signed signatures     // GUARDED_BY(mu): as known
}

// New returns a provider. It makes no call.
func New(config Config, clk clock.Clock) *Provider {
	return &Provider{
		config: config, clock: clk, client: &http.Client{Timeout: answerTimeout},
		documents: &http.Client{Timeout: answerTimeout, Transport: newPatient(http.DefaultTransport, clk)},
	}
}

// Name is the name for people.
func (p *Provider) Name() string { return p.config.Name }

// Issuer is the issuer of the provider's tokens.
func (p *Provider) Issuer() string { return p.config.URL }

// discovered is the provider as it describes itself, and what its tokens are signed with.
func (p *Provider) discovered(ctx context.Context) (*oidc.Provider, signatures, error) {
	if known, signed := p.recalled(); known != nil {
		return known, signed, nil
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	if known, signed := p.recalled(); known != nil {
		return known, signed, nil
	}
	// A caller who leaves must not look like a provider that is away.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.documents), p.config.URL)
	if err != nil {
		return nil, signatures{}, &UnreachableError{Provider: p.config.Name, Err: err}
	}
	signed, err := p.signaturesOf(found)
	if err != nil {
		return nil, signatures{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known, p.signed = found, signed
	return found, signed, nil
}

// recalled is what was discovered; nil before.
func (p *Provider) recalled() (*oidc.Provider, signatures) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known, p.signed
}

// UnreachableError is the error of a provider that does not answer.
type UnreachableError struct {
	Provider string
	Err      error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s cannot be reached: %v", e.Provider, e.Err)
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *UnreachableError) Unwrap() error { return e.Err }

func (p *Provider) oauth(known *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: known.Endpoint(), RedirectURL: p.config.RedirectURL,
		Scopes: append([]string{oidc.ScopeOpenID}, p.config.Scopes...),
	}
}

// Login is what a browser must bring back from the provider, and what the server must remember of it.
type Login struct {
	State, Nonce, Verifier string
}

// LoginURL is where a browser goes to sign in. A provider that does not answer now is an *UnreachableError, so that people
// learn why instead of being sent there.
func (p *Provider) LoginURL(ctx context.Context, login Login) (string, error) {
	known, _, err := p.discovered(ctx)
	if err != nil {
		return "", err
	}
	if _, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.documents), p.config.URL); err != nil {
		return "", &UnreachableError{Provider: p.config.Name, Err: err}
	}
	return p.oauth(known).AuthCodeURL(login.State, oidc.Nonce(login.Nonce), oauth2.S256ChallengeOption(login.Verifier)), nil
}

// Finish exchanges the code that the browser brought back, and returns who signed in.
func (p *Provider) Finish(ctx context.Context, login Login, code string) (sessions.Person, error) {
	known, signed, err := p.discovered(ctx)
	if err != nil {
		return sessions.Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.oauth(known).Exchange(ctx, code, oauth2.VerifierOption(login.Verifier))
	if err != nil {
		return sessions.Person{}, fmt.Errorf("%s refused the code: %w", p.config.Name, err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return sessions.Person{}, fmt.Errorf("%s sent no ID token; is openid among the scopes of the client?", p.config.Name)
	}
	id, claims, err := p.verify(ctx, signed, raw)
	switch {
	case err != nil:
		return sessions.Person{}, fmt.Errorf("the ID token of %s is not valid: %w", p.config.Name, err)
	case !slices.Contains(id.Audience, p.config.ClientID):
		return sessions.Person{}, fmt.Errorf("the ID token of %s is for %s, not for %s", p.config.Name, strings.Join(id.Audience, ", "), p.config.ClientID)
	case foreignParty(id, claims, p.config.ClientID):
		return sessions.Person{}, fmt.Errorf("the ID token of %s was issued to %s, not to %s", p.config.Name, claims.text("azp"), p.config.ClientID)
	case id.Nonce != login.Nonce:
		return sessions.Person{}, fmt.Errorf("the ID token of %s is of another sign-in", p.config.Name)
	}
	if err := p.complete(ctx, known, token, claims); err != nil {
		return sessions.Person{}, err
	}
	person, err := p.person(claims)
	person.IDToken = raw
	return person, err
}

// complete adds what the ID token leaves to the endpoint for information about users.
func (p *Provider) complete(ctx context.Context, known *oidc.Provider, token *oauth2.Token, claims claims) error {
	names := p.config.Claims
	if known.UserInfoEndpoint() == "" || claims.has(names.Name) && claims.has(names.Email) && claims.has(names.Groups) {
		return nil
	}
	info, err := known.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("%s does not say who signed in: %w", p.config.Name, err)
	}
	if info.Subject != claims.text("sub") {
		return fmt.Errorf("%s speaks of two people in one sign-in", p.config.Name)
	}
	return claims.add(info)
}

// Verify returns the person whose token a program presents, and when it is no longer accepted: a minute after it expires, for
// clocks that differ. The token must be for this installation.
func (p *Provider) Verify(ctx context.Context, raw string) (sessions.Person, time.Time, error) {
	_, signed, err := p.discovered(ctx)
	if err != nil {
		return sessions.Person{}, time.Time{}, err
	}
	token, claims, err := p.verify(ctx, signed, raw)
	if err != nil {
		return sessions.Person{}, time.Time{}, err
	}
	accepted := append([]string{p.config.ClientID}, p.config.Audiences...)
	if !slices.ContainsFunc(token.Audience, func(one string) bool { return slices.Contains(accepted, one) }) {
		return sessions.Person{}, time.Time{}, fmt.Errorf("its audience is %s, not %s", strings.Join(token.Audience, ", "), strings.Join(accepted, " or "))
	}
	if foreignParty(token, claims, accepted...) {
		return sessions.Person{}, time.Time{}, fmt.Errorf("it was issued to %s, which is not among access.issuers[].audiences", claims.text("azp"))
	}
	person, err := p.person(claims)
	return person, token.Expiry.Add(leeway), err
}

// SignOutURL is where a browser goes to sign out at the provider too, and then back; empty if the provider cannot do that, or does not
// answer. It may be the first call to the provider: the person may have signed in at another replica, or before a restart.
func (p *Provider) SignOutURL(ctx context.Context, idToken, back string) string {
	known, _, err := p.discovered(ctx)
	var about struct {
		EndSession string `json:"end_session_endpoint"`
	}
	if err != nil || known.Claims(&about) != nil || about.EndSession == "" {
		return ""
	}
	to, err := url.Parse(about.EndSession)
	if err != nil {
		return ""
	}
	query := to.Query()
	query.Set("id_token_hint", idToken)
	query.Set("post_logout_redirect_uri", back)
	query.Set("client_id", p.config.ClientID)
	to.RawQuery = query.Encode()
	return to.String()
}
