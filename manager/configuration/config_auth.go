package configuration

import (
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
)

// AuthConfig is the credential of the processes of an installation. Section access says who else may use it.
type AuthConfig struct {
	// InternalToken is the credential by which services in other processes reach the internal procedures. Empty
	// means that only services in this process can call them.
	InternalToken string `config:"internalToken" sensitive:"true"`
	// TLS is mutual TLS between the processes of an installation.
	TLS InternalTLSConfig `config:"tls"`
}

// InternalTLSConfig is mutual TLS between the processes of an installation, in addition to the internal token: with caFile, the token
// counts only on a connection whose client has a certificate of that authority. The files are read again when they change.
type InternalTLSConfig struct {
	// CAFile has the authorities, in PEM, that issue the certificates of the installation's processes. Calls to other processes trust
	// them too, in addition to those of the system. Requires server.tls where other processes call this one.
	CAFile string `config:"caFile"`
	// CertFile has the certificate, in PEM, that this process presents when it calls others. Together with keyFile.
	CertFile string `config:"certFile"`
	// KeyFile has its private key.
	KeyFile string `config:"keyFile"`
	// Names are those that certificates of callers may have, as a DNS name or as the common name. Empty means any name: the authority
	// issues certificates to nothing but the installation.
	Names []string `config:"names"`
}

// Files are where the certificates are.
func (c InternalTLSConfig) Files() certfiles.MutualConfig {
	return certfiles.MutualConfig{CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, Names: c.Names}
}

// Validate lists the fields that are wrong.
func (c AuthConfig) Validate() error {
	var found invalid.Fields
	found.If(c.TLS.CAFile != "" && c.InternalToken == "", "internalToken: is required with tls.caFile: a certificate alone opens nothing")
	found.If(c.TLS.CertFile == "" && c.TLS.KeyFile != "", "tls.certFile: is required with keyFile")
	found.If(c.TLS.CertFile != "" && c.TLS.KeyFile == "", "tls.keyFile: is required with certFile")
	found.If(c.TLS.CAFile == "" && (c.TLS.CertFile != "" || len(c.TLS.Names) > 0), "tls.caFile: is required with certFile and names")
	return found.Err()
}
