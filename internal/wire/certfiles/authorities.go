package certfiles

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"slices"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Authorities are the certificates of those who issue the certificates of others.
type Authorities struct {
	followed *followed[[]*x509.Certificate]
}

// NewAuthorities reads them from a file in PEM, which must have at least one.
func NewAuthorities(file string, clk clock.Clock, log zerolog.Logger) (*Authorities, error) {
	found, err := follow(func() ([]*x509.Certificate, error) { return readAuthorities(file) }, clk, log, file)
	return &Authorities{found}, err
}

func readAuthorities(file string) ([]*x509.Certificate, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, err //nolint:wrapcheck // its text names the file
	}
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, body = pem.Decode(body); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return all, nil
}

// AddTo adds them to a pool.
func (a *Authorities) AddTo(pool *x509.CertPool) {
	for _, one := range a.followed.get() {
		pool.AddCert(one)
	}
}

// Issued reports whether they have issued the certificate that the client of a connection has proved to own, and whether it has one
// of the names; without names, every name will do. The connection must have been verified with a pool that has them.
func (a *Authorities) Issued(state *tls.ConnectionState, names []string) bool {
	if state == nil || len(state.VerifiedChains) == 0 {
		return false
	}
	own := a.followed.get()
	return slices.ContainsFunc(state.VerifiedChains, func(chain []*x509.Certificate) bool {
		root := chain[len(chain)-1]
		return slices.ContainsFunc(own, root.Equal) && named(chain[0], names)
	})
}

// named reports whether a certificate has one of the names, as a DNS name or as the common name of its subject.
func named(certificate *x509.Certificate, names []string) bool {
	if len(names) == 0 || slices.Contains(names, certificate.Subject.CommonName) {
		return true
	}
	return slices.ContainsFunc(certificate.DNSNames, func(name string) bool { return slices.Contains(names, name) })
}
