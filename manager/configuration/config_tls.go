package configuration

import (
	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// TLSConfig is the certificate of the port. Without one the port speaks plain text, for a proxy that terminates TLS in front.
// With one, a port on loopback speaks both, so that tasks on this machine need no certificate; any other speaks TLS alone.
type TLSConfig struct {
	// CertFile and KeyFile are the certificate, with those of its issuers, and its private key, in PEM. They are read again when
	// they change. Both or neither are required.
	CertFile string `config:"certFile"`
	KeyFile  string `config:"keyFile"`
}

// Enabled reports whether the port has a certificate.
func (c TLSConfig) Enabled() bool { return c.CertFile != "" }

// Validate lists the fields that are wrong.
func (c TLSConfig) Validate() error {
	var found invalid.Fields
	found.If(c.CertFile == "" && c.KeyFile != "", "certFile: is required with keyFile")
	found.If(c.CertFile != "" && c.KeyFile == "", "keyFile: is required with certFile")
	return found.Err()
}
