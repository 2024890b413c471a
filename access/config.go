package access

import (
	"time"

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
	// Sessions are those of the console.
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
}

// IssuerConfig is an identity provider that speaks OpenID Connect.
type IssuerConfig struct {
	// Name is shown on the sign-in page, such as Okta. Required, and different for each issuer.
	Name string `config:"name"`
	// URL is the issuer, from which its metadata is read. Required.
	URL string `config:"url"`
	// ClientID and ClientSecret are those of this installation at the provider. ClientID is required; a public client has no
	// secret.
	ClientID     string `config:"clientID"`
	ClientSecret string `config:"clientSecret" sensitive:"true"`
	// Scopes are asked for in addition to openid. Defaults to profile and email.
	Scopes []string `config:"scopes"`
	// Audiences are accepted in tokens that programs present, in addition to ClientID.
	Audiences []string `config:"audiences"`
	// SubjectClaim, NameClaim, EmailClaim and GroupsClaim name the claims. They default to sub, name, email and groups.
	SubjectClaim string `config:"subjectClaim"`
	NameClaim    string `config:"nameClaim"`
	EmailClaim   string `config:"emailClaim"`
	GroupsClaim  string `config:"groupsClaim"`
}

// LocalConfig is accounts of this installation.
type LocalConfig struct {
	// Enabled lets people sign in with a name and a password that this installation keeps. Defaults to false.
	Enabled bool `config:"enabled"`
	// AdminPassword is the first password of the account admin, which is created if there is no account. Required where
	// local accounts are enabled for the first time.
	AdminPassword string `config:"adminPassword" sensitive:"true"`
}

// SessionConfig is the sessions of the console.
type SessionConfig struct {
	// Idle is after how long without a request a session ends. Defaults to 12h.
	Idle time.Duration `config:"idle"`
	// Absolute is after how long a session ends in any case. Defaults to 168h.
	Absolute time.Duration `config:"absolute"`
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
	// User is the subject of a person; Group a group of the provider. Exactly one is required.
	User  string `config:"user"`
	Group string `config:"group"`
	// Role is the name of the role. Required.
	Role string `config:"role"`
	// Project and Domain are where it holds. Empty means everywhere.
	Project string `config:"project"`
	Domain  string `config:"domain"`
}

// AuditConfig is the record of what was done.
type AuditConfig struct {
	// KeepFor is how long audit events are kept. Defaults to 9600h, 400 days.
	KeepFor time.Duration `config:"keepFor"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Sessions: SessionConfig{Idle: 12 * time.Hour, Absolute: 7 * 24 * time.Hour},
		Keys:     KeyConfig{MaxLifetime: 365 * 24 * time.Hour},
		Audit:    AuditConfig{KeepFor: 400 * 24 * time.Hour},
	}
}

// Authenticates reports whether callers must say who they are.
func (c Config) Authenticates() bool { return len(c.Issuers) > 0 || c.Local.Enabled }

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Open && c.Authenticates(), "open: must not be true together with issuers or local accounts")
	found.If(c.Sessions.Idle < time.Minute, "sessions.idle: must be at least 1m, got %s", c.Sessions.Idle)
	found.If(c.Sessions.Absolute < c.Sessions.Idle, "sessions.absolute: must not be less than sessions.idle, got %s", c.Sessions.Absolute)
	found.If(c.Keys.MaxLifetime < 0, "keys.maxLifetime: must not be negative, got %s", c.Keys.MaxLifetime)
	found.If(c.Audit.KeepFor < time.Hour, "audit.keepFor: must be at least 1h, got %s", c.Audit.KeepFor)
	found.Section("", c.validateRoles())
	return found.Err()
}
