// Package authserver is the authorization server of an installation, in front of local accounts, identity providers and API keys:
// the code flow with PKCE, the device flow, client credentials and refresh. Clients know it alone, whatever the providers behind it
// can do. The protocol is that of zitadel/oidc; this package says who the clients are and what is remembered.
package authserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/signing"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Path is where the server is mounted.
const Path = "/access/oauth2/"

// MetadataPath is where clients find what the server can do, by the path of its issuer (RFC 8414).
const MetadataPath = "/.well-known/oauth-authorization-server/access/oauth2"

// The endpoints, below the issuer.
const (
	authorizePath = "/authorize"
	tokenPath     = "/token"
	devicePath    = "/device"
	revokePath    = "/revoke"
	keysPath      = "/keys"
)

// How long a person may take, and how long the client may then take to fetch its tokens.
const (
	requestLifetime = 15 * time.Minute
	codeLifetime    = time.Minute
	deviceLifetime  = 10 * time.Minute
	pollInterval    = 5 * time.Second
)

// Keys are the API keys of programs, which are clients with a secret.
type Keys interface {
	// Check returns the caller whose key has this id and this secret, and an Unauthenticated error for any other pair.
	Check(ctx context.Context, id, secret string) (authz.Identity, error)
	// Caller is the caller of a key that was checked before, and an Unauthenticated error once the key has ended.
	Caller(ctx context.Context, id string) (authz.Identity, error)
}

// Deps are the dependencies of the server.
type Deps struct {
	Store    *store.Store
	Sessions *sessions.Sessions
	Ring     *signing.Ring
	APIKeys  Keys // nil means that there are none
	Clock    clock.Clock
	// URL is the public URL of the installation.
	URL string
	// SignInPage and DevicePage are the paths of the pages to which people are sent.
	SignInPage, DevicePage string
	// TokenLifetime is how long an access token is valid.
	TokenLifetime time.Duration
}

// Server is the authorization server.
type Server struct {
	op.UnimplementedServer
	Deps
	// verified has the claims of tokens whose signatures are right: checking those costs more than the rest of a call.
	verified *lru.Cache[[sha256.Size]byte, claims]
}

var _ op.Server = (*Server)(nil)

// rememberedTokens bounds how many verified tokens are remembered.
const rememberedTokens = 10_000

// New returns the server.
func New(deps Deps) (*Server, error) {
	verified, err := lru.New[[sha256.Size]byte, claims](rememberedTokens)
	if err != nil {
		return nil, fmt.Errorf("make the cache of tokens: %w", err)
	}
	return &Server{Deps: deps, verified: verified}, nil
}

// Issuer is the issuer of its tokens.
func (s *Server) Issuer() string { return s.URL + Path[:len(Path)-1] }

// Handler serves the endpoints below Path.
func (s *Server) Handler() http.Handler {
	return withPeer(http.StripPrefix(Path[:len(Path)-1], op.RegisterServer(s, op.Endpoints{
		Authorization: op.NewEndpoint(authorizePath), Token: op.NewEndpoint(tokenPath), Revocation: op.NewEndpoint(revokePath),
		JwksURI: op.NewEndpoint(keysPath), DeviceAuthorization: op.NewEndpoint(devicePath),
	}, op.WithServerCORSOptions(nil))))
}

// Metadata describes the server to clients.
func (s *Server) Metadata() *oidc.DiscoveryConfiguration {
	issuer := s.Issuer()
	return &oidc.DiscoveryConfiguration{
		Issuer: issuer, AuthorizationEndpoint: issuer + authorizePath, TokenEndpoint: issuer + tokenPath, RevocationEndpoint: issuer + revokePath,
		DeviceAuthorizationEndpoint: issuer + devicePath, JwksURI: issuer + keysPath,
		ScopesSupported:                   Scopes(),
		ResponseTypesSupported:            []string{string(oidc.ResponseTypeCode)},
		GrantTypesSupported:               append(client{}.GrantTypes(), oidc.GrantTypeClientCredentials),
		TokenEndpointAuthMethodsSupported: []oidc.AuthMethod{oidc.AuthMethodNone, oidc.AuthMethodBasic, oidc.AuthMethodPost},
		CodeChallengeMethodsSupported:     []oidc.CodeChallengeMethod{oidc.CodeChallengeMethodS256},
	}
}

// ServeMetadata serves Metadata. It has no secret, and any page may read it.
func (s *Server) ServeMetadata(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	_ = json.NewEncoder(w).Encode(s.Metadata()) // a failed write means that the client has gone
}

// Discovery implements op.Server.
func (s *Server) Discovery(context.Context, *op.Request[struct{}]) (*op.Response, error) {
	return op.NewResponse(s.Metadata()), nil
}

// Keys implements op.Server.
func (s *Server) Keys(ctx context.Context, _ *op.Request[struct{}]) (*op.Response, error) {
	set, err := s.publicKeys(ctx)
	if err != nil {
		return nil, failed(err)
	}
	return op.NewResponse(set), nil
}

// VerifyClient implements op.Server: the command line has no secret, everybody else needs one.
func (s *Server) VerifyClient(ctx context.Context, r *op.Request[op.ClientCredentials]) (op.Client, error) {
	if r.Data.ClientAssertion != "" {
		return nil, oidc.ErrInvalidClient().WithDescription("client assertions are not accepted; send the id and the secret of an API key")
	}
	if r.Data.ClientID == CommandLine {
		return client{}, nil
	}
	if s.APIKeys == nil {
		return nil, unknownClient()
	}
	identity, err := s.APIKeys.Check(ctx, r.Data.ClientID, r.Data.ClientSecret)
	if err != nil {
		return nil, unknownClient().WithParent(err)
	}
	return client{key: identity.Subject}, nil
}

func unknownClient() *oidc.Error {
	return oidc.ErrInvalidClient().WithDescription("no valid API key has this client_id and client_secret")
}

// failed hides the cause of a failure from clients.
func failed(err error) error {
	return oidc.ErrServerError().WithDescription("the server cannot do this at the moment; try again").WithParent(err)
}
