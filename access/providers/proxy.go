package providers

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// ProxyName is the issuer of people whom a proxy vouches for.
const ProxyName = "proxy"

// Proxy is a proxy in front of the installation that authenticates people.
type Proxy interface {
	// Person is whom the proxy vouches for. vouched is false for a request that is not the proxy's, or in which it says nothing.
	Person(ctx context.Context, request authz.Request) (person sessions.Person, vouched bool, err error)
}

// Headers believes the headers of a proxy that proves by the certificate of its connection that it is the proxy.
type Headers struct {
	names        ClaimNames
	prefix       string
	authorities  Issued
	certificates []string
}

// Issued knows the certificates that an authority has issued; certfiles.Authorities does.
type Issued interface {
	Issued(state *tls.ConnectionState, names []string) bool
}

var _ Proxy = (*Headers)(nil)

// NewHeaders returns a proxy with a certificate of an authority, under one of some names. The prefix is put before each subject.
func NewHeaders(names ClaimNames, prefix string, authorities Issued, certificates []string) *Headers {
	return &Headers{names, prefix, authorities, certificates}
}

// Person implements Proxy.
func (h *Headers) Person(_ context.Context, request authz.Request) (sessions.Person, bool, error) {
	subject := request.Header.Values(h.names.Subject)
	if len(subject) == 0 || !h.authorities.Issued(request.TLS, h.certificates) {
		return sessions.Person{}, false, nil
	}
	if len(subject) > 1 || subject[0] == "" {
		return sessions.Person{}, false, rpc.Unauthenticated("the proxy must send one name in the header %s, and sent %d", h.names.Subject, len(subject))
	}
	var groups []string
	for _, line := range request.Header.Values(h.names.Groups) {
		for group := range strings.SplitSeq(line, ",") {
			if group = strings.TrimSpace(group); group != "" {
				groups = append(groups, group)
			}
		}
	}
	return sessions.Person{
		Subject: h.prefix + subject[0], Name: request.Header.Get(h.names.Name), Email: request.Header.Get(h.names.Email), Groups: groups, Issuer: ProxyName,
	}, true, nil
}

// AssertionConfig is a proxy that signs who calls. All fields but Prefix are required.
type AssertionConfig struct {
	Header, Issuer, Audience, KeysURL string
	Claims                            ClaimNames
	// Prefix is put before each subject.
	Prefix string
}

// Assertions believes the tokens that a proxy signs, from any client.
type Assertions struct {
	config   AssertionConfig
	keys     oidc.KeySet
	clock    clock.Clock
	verified *lru.Cache[[sha256.Size]byte, vouched]
}

type vouched struct {
	person sessions.Person
	ends   time.Time
}

var _ Proxy = (*Assertions)(nil)

// rememberedAssertions bounds how many tokens are remembered: their signatures cost more than the rest of a call.
const rememberedAssertions = 10_000

// NewAssertions returns a proxy. Its keys are read on first use, and again when they change.
func NewAssertions(config AssertionConfig, clk clock.Clock) (*Assertions, error) {
	verified, err := lru.New[[sha256.Size]byte, vouched](rememberedAssertions)
	if err != nil {
		return nil, fmt.Errorf("make the cache of tokens: %w", err)
	}
	documents := &http.Client{Timeout: answerTimeout, Transport: newPatient(http.DefaultTransport, clk)}
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), documents), config.KeysURL)
	return &Assertions{config: config, clock: clk, verified: verified, keys: keys}, nil
}

// verify checks a token. The error is an *UnreachableError if its key is not known and the keys cannot be read.
func (a *Assertions) verify(ctx context.Context, raw string) (*oidc.IDToken, error) {
	noting := &noting{KeySet: a.keys}
	token, err := oidc.NewVerifier(a.config.Issuer, noting, &oidc.Config{
		ClientID: a.config.Audience, Now: func() time.Time { return a.clock.Now().Add(-leeway) }, SupportedSigningAlgs: asymmetric(),
	}).Verify(ctx, raw)
	if unread := new(url.Error); errors.As(noting.err, &unread) {
		return nil, &UnreachableError{Provider: "The server of the proxy's keys", Err: noting.err}
	}
	return token, err //nolint:wrapcheck // its text names the token
}

// Person implements Proxy.
func (a *Assertions) Person(ctx context.Context, request authz.Request) (sessions.Person, bool, error) {
	raw := request.Header.Values(a.config.Header)
	if len(raw) == 0 {
		return sessions.Person{}, false, nil
	}
	if len(raw) > 1 {
		return sessions.Person{}, false, rpc.Unauthenticated("the proxy must send one token in the header %s, and sent %d", a.config.Header, len(raw))
	}
	key := sha256.Sum256([]byte(raw[0]))
	if known, ok := a.verified.Get(key); ok && a.clock.Now().Before(known.ends) {
		return known.person, true, nil
	}
	token, err := a.verify(ctx, raw[0])
	unreachable := new(UnreachableError)
	switch {
	case errors.As(err, &unreachable):
		return sessions.Person{}, false, rpc.Unavailable(err, "the keys of the proxy cannot be read to verify its token; try again")
	case err != nil:
		return sessions.Person{}, false, rpc.Unauthenticated("the token of the proxy in the header %s is not valid: %v", a.config.Header, err)
	}
	var said claims
	if err := token.Claims(&said); err != nil {
		return sessions.Person{}, false, rpc.Unauthenticated("the claims of the proxy's token: %v", err)
	}
	names := a.config.Claims
	subject := said.text(names.Subject)
	if subject == "" {
		return sessions.Person{}, false, rpc.Unauthenticated("the token of the proxy has no claim %s", names.Subject)
	}
	person := sessions.Person{
		Subject: a.config.Prefix + subject, Name: said.text(names.Name), Email: said.text(names.Email), Groups: said.texts(names.Groups), Issuer: ProxyName,
		SaidAt: token.IssuedAt,
	}
	a.verified.Add(key, vouched{person, token.Expiry})
	return person, true, nil
}
