package authserver

import (
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// CommandLine is the id of the public client: the command line and the SDK on the machine of a person.
const CommandLine = "flyte-cli"

// RedirectURI is where the command line listens for the code. Native clients may use another port of the loopback address.
const RedirectURI = "http://localhost:53593/callback"

// Scopes are those that the command line asks for. What a token is good for, roles decide, not scopes.
func Scopes() []string { return []string{"openid", "profile", "email", "offline_access"} }

// client is a client in the terms of the library. A key is a client with a secret of its own.
type client struct{ key string }

var _ op.Client = client{}

func (c client) public() bool { return c.key == "" }

// GetID implements op.Client.
func (c client) GetID() string {
	if c.public() {
		return CommandLine
	}
	return c.key
}

// RedirectURIs implements op.Client.
func (c client) RedirectURIs() []string {
	if c.public() {
		return []string{RedirectURI}
	}
	return nil
}

// GrantTypes implements op.Client.
func (c client) GrantTypes() []oidc.GrantType {
	if c.public() {
		return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeDeviceCode}
	}
	return []oidc.GrantType{oidc.GrantTypeClientCredentials}
}

// ResponseTypes implements op.Client.
func (c client) ResponseTypes() []oidc.ResponseType {
	if c.public() {
		return []oidc.ResponseType{oidc.ResponseTypeCode}
	}
	return nil
}

// ApplicationType implements op.Client.
func (client) ApplicationType() op.ApplicationType { return op.ApplicationTypeNative }

// AuthMethod implements op.Client.
func (c client) AuthMethod() oidc.AuthMethod {
	if c.public() {
		return oidc.AuthMethodNone
	}
	return oidc.AuthMethodBasic
}

// PostLogoutRedirectURIs implements op.Client.
func (client) PostLogoutRedirectURIs() []string { return nil }

// LoginURL implements op.Client.
func (client) LoginURL(string) string { return "" }

// AccessTokenType implements op.Client.
func (client) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

// IDTokenLifetime implements op.Client.
func (client) IDTokenLifetime() time.Duration { return 0 }

// DevMode implements op.Client.
func (client) DevMode() bool { return false }

// RestrictAdditionalIdTokenScopes implements op.Client.
func (client) RestrictAdditionalIdTokenScopes() func([]string) []string { //nolint:staticcheck // the name is the library's
	return func([]string) []string { return nil }
}

// RestrictAdditionalAccessTokenScopes implements op.Client.
func (client) RestrictAdditionalAccessTokenScopes() func([]string) []string {
	return func([]string) []string { return nil }
}

// IsScopeAllowed implements op.Client.
func (client) IsScopeAllowed(string) bool { return false }

// IDTokenUserinfoClaimsAssertion implements op.Client.
func (client) IDTokenUserinfoClaimsAssertion() bool { return false }

// ClockSkew implements op.Client.
func (client) ClockSkew() time.Duration { return 0 }
