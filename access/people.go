package access

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access/accounts"
	"github.com/flyte-binary/flyte-binary/access/authserver"
	"github.com/flyte-binary/flyte-binary/access/identity"
	"github.com/flyte-binary/flyte-binary/access/providers"
	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/signin"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/access/visitors"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth/authconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/browserguard"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// sweepEvery is how often what has expired is deleted.
const sweepEvery = 10 * time.Minute

// signIn is everything by which people sign in; nil where access is open.
type signIn struct {
	config   Config
	accounts *accounts.Accounts // nil without local accounts
	sessions *sessions.Sessions
	server   *authserver.Server
	pages    *signin.Pages
	visitors *visitors.Visitors
	proxy    providers.Proxy // nil without one
	// authorities are those of the proxy's certificate; nil for a proxy without one.
	authorities *certfiles.Authorities
	owners      *owners
	bearers     *bearers
	clock       clock.Clock
	log         zerolog.Logger

	lifecycle.Background
}

var (
	_ lifecycle.Part      = (*signIn)(nil)
	_ authz.Authenticator = (*signIn)(nil)
	_ authz.Lasting       = (*signIn)(nil)
)

func newSignIn(config Config, s *store.Store, keys authserver.Keys, auditor authz.Beginning, clk clock.Clock, log zerolog.Logger) (*signIn, error) {
	url := strings.TrimSuffix(config.PublicURL, "/")
	made := &signIn{config: config, clock: clk, log: log}
	var err error
	if made.sessions, err = sessions.New(s, clk, sessions.Lifetimes{Idle: config.Sessions.Idle, Absolute: config.Sessions.Absolute}); err != nil {
		return nil, err
	}
	made.server, err = authserver.New(authserver.Deps{
		Store: s, Sessions: made.sessions, Ring: authserver.NewRing(s, clk), APIKeys: keys, Clock: clk, URL: url,
		SignInPage: signin.Page, DevicePage: signin.DevicePage, TokenLifetime: config.Sessions.Token,
	})
	if err != nil {
		return nil, err
	}
	if err := config.readFiles(); err != nil {
		return nil, err
	}
	made.config = config
	all := providersOf(config, url, clk)
	if made.bearers, err = newBearers(all, clk); err != nil {
		return nil, err
	}
	if config.Local.Enabled {
		made.accounts = accounts.New(s, config.localPrefix())
	}
	if made.proxy, made.authorities, err = proxyOf(config, clk, log); err != nil {
		return nil, fmt.Errorf("proxy.clientCAFile: %w", err)
	}
	if made.owners, err = newOwners(s.OwnerSignedIn, clk); err != nil {
		return nil, err
	}
	made.visitors = visitors.New(visitors.Deps{Store: s, Sessions: made.sessions, Client: signin.Console, Clock: clk, URL: url})
	made.pages = signin.New(signin.Deps{
		Store: s, Sessions: made.sessions, Accounts: made.accounts, Providers: all, Server: made.server, Visitors: made.visitors, URL: url,
		Vouched: made.vouched, Lifetime: config.Sessions.Absolute, Auditor: auditor, Clock: clk, Log: log,
	})
	return made, nil
}

// readFiles replaces the names of files with secrets by what is in them.
func (c *Config) readFiles() error {
	read := func(key, file string, to *string) error {
		if file == "" {
			return nil
		}
		body, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*to = strings.TrimSpace(string(body))
		return nil
	}
	c.Issuers = slices.Clone(c.Issuers)
	for i := range c.Issuers {
		if err := read(fmt.Sprintf("issuers[%d].clientSecretFile", i), c.Issuers[i].ClientSecretFile, &c.Issuers[i].ClientSecret); err != nil {
			return err
		}
	}
	c.Local.Accounts = slices.Clone(c.Local.Accounts)
	for i := range c.Local.Accounts {
		one := &c.Local.Accounts[i]
		key := fmt.Sprintf("local.accounts[%d].passwordFile", i)
		if err := read(key, one.PasswordFile, &one.Password); err != nil {
			return err
		}
		if size := len(one.Password); size < accounts.MinPassword || size > accounts.MaxPassword {
			return fmt.Errorf("%s: must have a password of %d to %d bytes, has %d", key, accounts.MinPassword, accounts.MaxPassword, size)
		}
	}
	return read("local.adminPasswordFile", c.Local.AdminPasswordFile, &c.Local.AdminPassword)
}

// localPrefix distinguishes the subjects of local accounts from those of providers. Without providers it is empty.
func (c Config) localPrefix() string {
	if len(c.Issuers) > 0 {
		return "local|"
	}
	return ""
}

// providersOf are the providers of the configuration. The subjects of the first are as it says, those of others have its name in
// front; the first must not use such a beginning.
func providersOf(config Config, url string, clk clock.Clock) []*providers.Provider {
	reserved := []string{"local|", "proxy|"}
	for _, issuer := range config.Issuers {
		reserved = append(reserved, issuer.Name+"|")
	}
	var all []*providers.Provider
	for i, issuer := range config.Issuers {
		made := providers.Config{
			Name: issuer.Name, URL: issuer.URL, ClientID: issuer.ClientID, ClientSecret: issuer.ClientSecret, Scopes: issuer.Scopes,
			Audiences: issuer.Audiences, RedirectURL: url + signin.CallbackPath, Reserved: reserved,
			Claims: providers.ClaimNames{
				Subject: cmp.Or(issuer.SubjectClaim, "sub"), Name: cmp.Or(issuer.NameClaim, "name"),
				Email: cmp.Or(issuer.EmailClaim, "email"), Groups: cmp.Or(issuer.GroupsClaim, "groups"),
			},
		}
		if made.Scopes == nil {
			made.Scopes = []string{"profile", "email"}
		}
		if i > 0 {
			made.Prefix = issuer.Name + "|"
		}
		all = append(all, providers.New(made, clk))
	}
	return all
}

// mount serves the services by which clients find out how to sign in and who they are.
func (s *signIn) mount(r rpc.Registrar) {
	options := connect.WithHandlerOptions(r.Options()...)
	metadata := identity.AuthMetadata{}
	if s != nil {
		metadata.Server = s.server.Metadata
	}
	if s != nil {
		r.Handle("GET "+authserver.MetadataPath, http.HandlerFunc(s.server.ServeMetadata))
	}
	r.Handle(authconnect.NewIdentityServiceHandler(identity.Users{}, options))
	r.Handle(authconnect.NewAuthMetadataServiceHandler(metadata, options))
}

// Authenticate implements authz.Authenticator: access tokens and tokens of the providers, the word of the proxy, and the
// session of a browser. What a program presents by itself counts before the word of the proxy. Credentials of other kinds are
// left to their own authenticators.
func (s *signIn) Authenticate(ctx context.Context, request authz.Request) (authz.Identity, error) {
	person, vouched, err := s.vouched(ctx, request)
	if err != nil {
		return authz.Identity{}, err
	}
	if vouched {
		s.owners.saw(ctx, person)
	}
	token, presented := bearer(request.Header)
	if presented && strings.Count(token, ".") == 2 {
		identity, known, err := s.server.Caller(ctx, token)
		if known || err != nil {
			return identity, err
		}
		if identity, err = s.bearers.Caller(ctx, token); err != nil || identity.Kind != authz.Anonymous {
			return identity, err
		}
	}
	switch {
	case vouched:
		return person.Identity(providers.ProxyName), nil
	case presented:
		return authz.Identity{}, nil
	default:
		return s.pages.Authenticate(ctx, request)
	}
}

// vouched is whom the proxy vouches for. Browsers send by themselves what makes the proxy do so, so pages of other sites
// cannot use it.
func (s *signIn) vouched(ctx context.Context, request authz.Request) (sessions.Person, bool, error) {
	if s.proxy == nil || !browserguard.Own(request.Method, request.Header) {
		return sessions.Person{}, false, nil
	}
	return s.proxy.Person(ctx, request)
}

// Ended implements authz.Lasting: people are known by their session. A token of a provider has none, and ends by itself. The
// code is not Unauthenticated: after that the SDK gets another token and begins a stream again, but only once for each stream,
// and a watch may take many tokens. After DeadlineExceeded it watches again each time, and gets the token then.
func (s *signIn) Ended(ctx context.Context, identity authz.Identity) error {
	if !identity.Until.IsZero() && s.clock.Now().After(identity.Until) {
		return rpc.DeadlineExceeded("the %s has expired, and this stream with it; call again with a new one", identity.Credential)
	}
	if identity.Kind != authz.User || !sessions.IsID(identity.Credential) {
		return nil
	}
	if lasts, err := s.sessions.Lasts(ctx, identity.Credential); err != nil || lasts {
		return nil //nolint:nilerr // no one can tell
	}
	return rpc.Unauthenticated("the session has ended; sign in again")
}

// bearer is the token of an Authorization header.
func bearer(header http.Header) (token string, ok bool) {
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "bearer") && token != ""
}

// Start implements lifecycle.Part.
func (s *signIn) Start(ctx context.Context) error {
	if s.accounts != nil {
		if err := s.accounts.Bootstrap(ctx, s.config.Local.AdminPassword); err != nil {
			return fmt.Errorf("access: %w", err)
		}
		for _, account := range s.config.Local.Accounts {
			row := store.Account{Name: account.Name, DisplayName: cmp.Or(account.DisplayName, account.Name), Email: account.Email, Groups: account.Groups}
			if err := s.accounts.Add(ctx, row, account.Password); err != nil {
				return fmt.Errorf("access: %w", err)
			}
		}
	}
	return s.Run(ctx, s.sweep)
}

// sweep deletes what has expired. Every replica does it; that is cheap, and needs no lease.
func (s *signIn) sweep(ctx context.Context) {
	for clock.Sleep(ctx, s.clock, sweepEvery) == nil {
		if err := s.sessions.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn().Err(err).Msg("cannot delete what has expired; retrying")
		}
	}
}
