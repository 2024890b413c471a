package configuration

import (
	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// AuthOpen is the only mode.
const AuthOpen = "open"

// AuthConfig is the credential of the processes of an installation.
type AuthConfig struct {
	// Mode has one value, open. Section access says who may use the installation. Defaults to open.
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
