package certfiles

import (
	"crypto/tls"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Pair is a certificate with its private key.
type Pair struct{ followed *followed[*tls.Certificate] }

// NewPair reads a certificate, with those of its issuers, and its key, from files in PEM.
func NewPair(certFile, keyFile string, clk clock.Clock, log zerolog.Logger) (*Pair, error) {
	found, err := follow(func() (*tls.Certificate, error) {
		read, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("the certificate %s with the key %s: %w", certFile, keyFile, err)
		}
		return &read, nil
	}, clk, log, certFile, keyFile)
	return &Pair{found}, err
}

// OfServer is tls.Config.GetCertificate.
func (p *Pair) OfServer(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.followed.get(), nil }

// OfClient is tls.Config.GetClientCertificate.
func (p *Pair) OfClient(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return p.followed.get(), nil
}
