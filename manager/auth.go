package manager

import (
	"net"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// AuthOpen is the mode without authentication: every caller is anonymous and may do everything.
const AuthOpen = "open"

// AuthConfig configures authentication and authorization.
type AuthConfig struct {
	// Mode is how callers authenticate. The only mode is open: there is no authentication, and every client that reaches
	// the port may do everything except call internal procedures. Defaults to open.
	Mode string `config:"mode"`
	// InternalToken is the credential by which services in other processes reach the internal procedures. Empty
	// means that only services in this process can call them.
	InternalToken string `config:"internalToken" sensitive:"true"`
}

// DefaultAuthConfig returns the documented defaults.
func DefaultAuthConfig() AuthConfig { return AuthConfig{Mode: AuthOpen} }

// Validate lists the fields that are wrong.
func (c AuthConfig) Validate() error {
	var found invalid.Fields
	found.If(c.Mode != AuthOpen, "mode: want %s, the only supported mode, got %q", AuthOpen, c.Mode)
	return found.Err()
}

// policy returns the authenticator and the authoriser: the given ones, else those of the mode. open reports that every
// caller may do everything.
func (c AuthConfig) policy(options Options) (authenticator authz.Authenticator, authoriser authz.Authoriser, open bool) {
	authenticator, authoriser = options.Authenticator, options.Authoriser
	open = authoriser == nil
	if authenticator == nil {
		authenticator = authz.Open{}
	}
	if authoriser == nil {
		authoriser = authz.AllowAll{}
	}
	return authenticator, authoriser, open
}

// warnOpen logs that the API has no authentication, and who can reach it.
func warnOpen(log zerolog.Logger, address net.Addr) {
	reach := "every host that reaches this address"
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		reach = "every process on this machine"
	}
	log.Warn().Stringer("address", address).Str("auth.mode", AuthOpen).
		Msg("the API has no authentication: " + reach + " may read and change everything")
}
