package access

import (
	"net/url"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/access/accounts"
	"github.com/flyte-binary/flyte-binary/access/limits"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config says who may use the installation, and for what. Without an issuer and without local accounts there is no
// authentication: see Open.
type Config struct {
	// Open lets everybody who reaches the port do everything. It is required for a port that is not loopback when there is
	// neither an issuer nor local accounts, and refused when there is. Every page of the console shows it. Defaults to false.
	Open bool `config:"open"`
	// PublicURL is the URL at which browsers and clients reach this installation, such as https://flyte.example.com. Identity
	// providers send people back to it. Defaults to storage.publicURL.
	PublicURL string `config:"publicURL"`
	// Ask tells people whom to ask for more rights, in a sentence. Defaults to none.
	Ask string `config:"ask"`
	// Issuers are the identity providers whose people may sign in.
	Issuers []IssuerConfig `config:"issuers"`
	// Local is accounts of this installation, for trials.
	Local LocalConfig `config:"local"`
	// Proxy is a proxy in front that authenticates people.
	Proxy ProxyConfig `config:"proxy"`
	// Sessions are those of people, in the console and at the command line.
	Sessions SessionConfig `config:"sessions"`
	// Keys are the API keys of programs.
	Keys KeyConfig `config:"keys"`
	// Roles are roles in addition to the built-in ones.
	Roles []RoleConfig `config:"roles"`
	// Bindings give roles to people and groups. They hold in addition to those that are made by call, and cannot be
	// deleted by call.
	Bindings []BindingConfig `config:"bindings"`
	// Audit is the record of what was done.
	Audit AuditConfig `config:"audit"`
	// Limits bound what one caller, and one project, asks of the installation.
	Limits limits.Config `config:"limits"`
}

// IssuerConfig is an identity provider that speaks OpenID Connect.
type IssuerConfig struct {
	// Name is shown on the sign-in page, such as Okta. Required, and different for each issuer.
	Name string `config:"name"`
	// URL is the issuer, from which its metadata is read. Required.
	URL string `config:"url"`
	// ClientID is the id of this installation at the provider. Required.
	ClientID string `config:"clientID"`
	// ClientSecret is its secret there. A public client has none.
	ClientSecret string `config:"clientSecret" sensitive:"true"`
	// ClientSecretFile has ClientSecret. It is read at start; white space around it is dropped.
	ClientSecretFile string `config:"clientSecretFile"`
	// Scopes are asked for in addition to openid. Defaults to profile and email.
	Scopes []string `config:"scopes"`
	// Audiences are accepted in tokens that programs present, in addition to ClientID.
	Audiences []string `config:"audiences"`
	// SubjectClaim is the claim with the stable name of a person. Defaults to sub.
	SubjectClaim string `config:"subjectClaim"`
	// NameClaim is the claim with the name for display. Defaults to name.
	NameClaim string `config:"nameClaim"`
	// EmailClaim is the claim with the e-mail address. Defaults to email.
	EmailClaim string `config:"emailClaim"`
	// GroupsClaim is the claim with the groups, for bindings. Defaults to groups.
	GroupsClaim string `config:"groupsClaim"`
}

// LocalConfig is accounts of this installation.
type LocalConfig struct {
	// Enabled lets people sign in with a name and a password that this installation keeps. Defaults to false.
	Enabled bool `config:"enabled"`
	// AdminPassword is the first password of the account admin, which is created if there is no account. Required where
	// local accounts are enabled for the first time.
	AdminPassword string `config:"adminPassword" sensitive:"true"`
	// AdminPasswordFile has AdminPassword. It is read at start; white space around it is dropped.
	AdminPasswordFile string `config:"adminPasswordFile"`
	// Accounts are further accounts. A start creates those that do not exist, and does not change those that do.
	Accounts []AccountConfig `config:"accounts"`
}

// AccountConfig is an account of this installation.
type AccountConfig struct {
	// Name is what people sign in with, and the subject of their roles. Required.
	Name string `config:"name"`
	// Password is the first password of the account. Required without passwordFile.
	Password string `config:"password" sensitive:"true"`
	// PasswordFile has the first password of the account. It is read at start; white space around it is dropped.
	PasswordFile string `config:"passwordFile"`
	// DisplayName is the name for display. Defaults to Name.
	DisplayName string `config:"displayName"`
	// Email is the e-mail address, for display.
	Email string `config:"email"`
	// Groups are those of the account, for bindings.
	Groups []string `config:"groups"`
}

// ProxyConfig is a proxy that authenticates people and says who they are: in headers, if it proves by a certificate that it is the
// proxy, or in a token that it has signed. Headers of anyone else are ignored.
type ProxyConfig struct {
	// ClientCAFile has the authorities, in PEM, that issue the certificate of the proxy. It is read again when it changes. The proxy
	// presents the certificate in its connections, so it requires server.tls. Either this or token.header.
	ClientCAFile string `config:"clientCAFile"`
	// ClientNames are those of the proxy in its certificate, as a DNS name or as the common name. Required with clientCAFile.
	ClientNames []string `config:"clientNames"`
	// SubjectHeader is the header with the stable name of the person. Defaults to X-Auth-Request-User.
	SubjectHeader string `config:"subjectHeader"`
	// NameHeader is the header with the name for display. Defaults to X-Auth-Request-Preferred-Username.
	NameHeader string `config:"nameHeader"`
	// EmailHeader is the header with the e-mail address. Defaults to X-Auth-Request-Email.
	EmailHeader string `config:"emailHeader"`
	// GroupsHeader is the header with the groups, separated by commas. Defaults to X-Auth-Request-Groups.
	GroupsHeader string `config:"groupsHeader"`
	// Token is what an identity-aware proxy signs.
	Token ProxyTokenConfig `config:"token"`
}

// ProxyTokenConfig is a token that a proxy adds to each request.
type ProxyTokenConfig struct {
	// Header is the header with the token, a JWT, such as X-Goog-Iap-Jwt-Assertion or Cf-Access-Jwt-Assertion.
	Header string `config:"header"`
	// Issuer is the iss of the tokens. Required with header.
	Issuer string `config:"issuer"`
	// Audience is the aud of the tokens for this installation. Required with header.
	Audience string `config:"audience"`
	// KeysURL is where the keys of the proxy are, as a set of JSON web keys. Required with header.
	KeysURL string `config:"keysURL"`
	// SubjectClaim is the claim of the token with the stable name of the person. Defaults to sub.
	SubjectClaim string `config:"subjectClaim"`
	// NameClaim is the claim of the token with the name for display. Defaults to name.
	NameClaim string `config:"nameClaim"`
	// EmailClaim is the claim of the token with the e-mail address. Defaults to email.
	EmailClaim string `config:"emailClaim"`
	// GroupsClaim is the claim of the token with the groups. Defaults to groups.
	GroupsClaim string `config:"groupsClaim"`
}

// Enabled reports whether there is such a proxy.
func (c ProxyConfig) Enabled() bool { return c.ClientCAFile != "" || c.Token.Header != "" }

// SessionConfig is the sessions of people, in the console and at the command line.
type SessionConfig struct {
	// Idle is after how long without a request a session ends. Defaults to 12h.
	Idle time.Duration `config:"idle"`
	// Absolute is after how long a session ends in any case. Defaults to 168h.
	Absolute time.Duration `config:"absolute"`
	// Token is how long an access token of the command line or of an API key is valid. Clients renew it. Defaults to 1h.
	Token time.Duration `config:"token"`
}

// KeyConfig is API keys.
type KeyConfig struct {
	// MaxLifetime is the longest lifetime of a key. Defaults to 8760h; 0 allows keys without an end.
	MaxLifetime time.Duration `config:"maxLifetime"`
}

// RoleConfig is a role of the installation.
type RoleConfig struct {
	// Name is required, and not that of a built-in role.
	Name string `config:"name"`
	// Description is for people.
	Description string `config:"description"`
	// Permissions are noun.verb, noun.* or *.verb. Required.
	Permissions []string `config:"permissions"`
}

// BindingConfig gives a role to a person or a group.
type BindingConfig struct {
	// User is the subject of a person. Exactly one of user and group is required.
	User string `config:"user"`
	// Group is a group of the provider or of local accounts.
	Group string `config:"group"`
	// Role is the name of the role. Required.
	Role string `config:"role"`
	// Project is the project in which it holds. Empty means every project.
	Project string `config:"project"`
	// Domain is the domain in which it holds. Empty means every domain.
	Domain string `config:"domain"`
}

// AuditConfig is the record of what was done.
type AuditConfig struct {
	// KeepFor is how long audit events are kept. Defaults to 9600h, 400 days.
	KeepFor time.Duration `config:"keepFor"`
	// Anonymous records changes also where access is open: as made by an anonymous caller, with address and program. Defaults to
	// true.
	Anonymous bool `config:"anonymous"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Sessions: SessionConfig{Idle: 12 * time.Hour, Absolute: 7 * 24 * time.Hour, Token: time.Hour},
		Keys:     KeyConfig{MaxLifetime: 365 * 24 * time.Hour},
		Audit:    AuditConfig{KeepFor: 400 * 24 * time.Hour, Anonymous: true},
		Limits:   limits.DefaultConfig(),
	}
}

// Authenticates reports whether callers must say who they are.
func (c Config) Authenticates() bool {
	return len(c.Issuers) > 0 || c.Local.Enabled || c.Proxy.Enabled()
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Open && c.Authenticates(), "open: must not be true together with issuers, local accounts or a proxy")
	found.If(c.Sessions.Idle < time.Minute, "sessions.idle: must be at least 1m, got %s", c.Sessions.Idle)
	found.If(c.Sessions.Absolute < c.Sessions.Idle, "sessions.absolute: must not be less than sessions.idle, got %s", c.Sessions.Absolute)
	found.If(c.Sessions.Token < time.Second || c.Sessions.Token > 24*time.Hour, "sessions.token: must be between 1s and 24h, got %s", c.Sessions.Token)
	c.validateURL(&found)
	c.validateIssuers(&found)
	c.Local.validate(&found)
	found.Section("proxy", c.Proxy.validate())
	found.If(c.Keys.MaxLifetime < 0, "keys.maxLifetime: must not be negative, got %s", c.Keys.MaxLifetime)
	found.If(c.Audit.KeepFor < time.Hour, "audit.keepFor: must be at least 1h, got %s", c.Audit.KeepFor)
	found.Section("", c.validateRoles())
	found.Section("limits", c.Limits.Validate())
	return found.Err()
}

// validateURL checks the URL to which providers send people back, and from which the names of cookies and tokens follow.
func (c Config) validateURL(found *invalid.Fields) {
	if c.PublicURL == "" {
		return // it follows from storage.publicURL
	}
	at, err := url.Parse(c.PublicURL)
	found.If(err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || strings.Trim(at.Path, "/") != "" || at.RawQuery != "",
		"publicURL: must be the URL of a host, such as https://flyte.example.com, got %q", c.PublicURL)
}

func (c Config) validateIssuers(found *invalid.Fields) {
	names, urls := map[string]bool{}, map[string]bool{}
	for i, issuer := range c.Issuers {
		found.If(issuer.Name == "" || strings.Contains(issuer.Name, "|") || issuer.Name == "local" || issuer.Name == "proxy", "issuers[%d].name: is required, must be neither local nor proxy, and must not contain |, got %q", i, issuer.Name)
		found.If(names[issuer.Name], "issuers[%d].name: %q is the name of another issuer", i, issuer.Name)
		at, err := url.Parse(issuer.URL)
		found.If(err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "", "issuers[%d].url: must be a URL such as https://login.example.com, got %q", i, issuer.URL)
		found.If(urls[issuer.URL], "issuers[%d].url: %q is the URL of another issuer", i, issuer.URL)
		found.If(issuer.ClientID == "", "issuers[%d].clientID: is required", i)
		found.If(issuer.ClientSecret != "" && issuer.ClientSecretFile != "", "issuers[%d].clientSecretFile: must be empty together with clientSecret", i)
		names[issuer.Name], urls[issuer.URL] = true, true
	}
}

func (c LocalConfig) validate(found *invalid.Fields) {
	found.If(!c.Enabled && (c.AdminPassword != "" || c.AdminPasswordFile != "" || len(c.Accounts) > 0), "local.enabled: must be true for accounts to be of use")
	found.If(c.AdminPassword != "" && len(c.AdminPassword) < accounts.MinPassword, "local.adminPassword: must have at least %d bytes", accounts.MinPassword)
	found.If(c.AdminPassword != "" && c.AdminPasswordFile != "", "local.adminPasswordFile: must be empty together with adminPassword")
	for i, account := range c.Accounts {
		found.If(account.Name == "" || strings.ContainsAny(account.Name, "| \t\r\n"), "local.accounts[%d].name: is required, without spaces and |, got %q", i, account.Name)
		found.If(account.Password != "" && account.PasswordFile != "", "local.accounts[%d].passwordFile: must be empty together with password", i)
		found.If(account.PasswordFile == "" && len(account.Password) < accounts.MinPassword || len(account.Password) > accounts.MaxPassword,
			"local.accounts[%d].password: must have %d to %d bytes", i, accounts.MinPassword, accounts.MaxPassword)
	}
}
