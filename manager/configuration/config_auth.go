package configuration

import (
	"github.com/flyte-binary/flyte-binary/internal/invalid"
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
