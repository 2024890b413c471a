package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Certificates are files with which the node and the API server authenticate each other. Other users of the machine do
// not have them, and so cannot read logs.
type Certificates struct {
	// Authority has signed the other two; the API server may use it as --kubelet-certificate-authority.
	Authority string
	// ClientCertificate and ClientKey are for the API server: --kubelet-client-certificate, --kubelet-client-key.
	ClientCertificate, ClientKey string

	// AuthorityKey signs further certificates. ServingCertificate and ServingKey are those of the node's server.
	AuthorityKey, ServingCertificate, ServingKey string
}

// How long certificates are valid, and how long before their expiry they are renewed. The authority outlives every
// demo, since the API server may read it only when it starts.
const (
	authorityLife      = 20 * 365 * 24 * time.Hour
	CertificateLife    = 365 * 24 * time.Hour
	CertificateRenewal = 30 * 24 * time.Hour
)

// EnsureCertificates creates the certificates in dir unless valid ones exist. The authority signs new ones as long as it
// is valid itself, so that those who know it need no restart.
func EnsureCertificates(dir, address string, clk clock.Clock) (Certificates, error) {
	c := Certificates{
		Authority:          filepath.Join(dir, "authority.crt"),
		ClientCertificate:  filepath.Join(dir, "client.crt"),
		ClientKey:          filepath.Join(dir, "client.key"),
		AuthorityKey:       filepath.Join(dir, "authority.key"),
		ServingCertificate: filepath.Join(dir, "serving.crt"),
		ServingKey:         filepath.Join(dir, "serving.key"),
	}
	if c.good(address, clk.Now()) {
		return c, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, fmt.Errorf("create the directory of certificates: %w", err)
	}
	return c, c.make(address, clk.Now())
}

// good reports whether all files exist and are valid for long enough.
func (c Certificates) good(address string, now time.Time) bool {
	pool, err := c.Pool()
	if err != nil {
		return false
	}
	if _, err := tls.LoadX509KeyPair(c.Authority, c.AuthorityKey); err != nil {
		return false // nothing could be renewed later
	}
	for _, pair := range []struct {
		cert, key string
		usage     x509.ExtKeyUsage
		host      string
	}{
		{c.ServingCertificate, c.ServingKey, x509.ExtKeyUsageServerAuth, address},
		{c.ClientCertificate, c.ClientKey, x509.ExtKeyUsageClientAuth, ""},
	} {
		loaded, err := tls.LoadX509KeyPair(pair.cert, pair.key)
		if err != nil {
			return false
		}
		_, err = loaded.Leaf.Verify(x509.VerifyOptions{
			Roots: pool, KeyUsages: []x509.ExtKeyUsage{pair.usage}, DNSName: pair.host, CurrentTime: now.Add(CertificateRenewal),
		})
		if err != nil {
			return false
		}
	}
	return true
}

// Pool returns the authority, which the node trusts for the certificate of the API server.
func (c Certificates) Pool() (*x509.CertPool, error) {
	raw, err := os.ReadFile(c.Authority)
	if err != nil {
		return nil, fmt.Errorf("read the authority's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("read the authority's certificate: no certificate in %s", c.Authority)
	}
	return pool, nil
}

func (c Certificates) make(address string, now time.Time) error {
	authority, authorityKey, err := c.authority(now)
	if err != nil {
		return err
	}
	serving := &x509.Certificate{
		Subject: pkix.Name{CommonName: "local node"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost"},
	}
	if ip := net.ParseIP(address); ip != nil {
		serving.IPAddresses = []net.IP{ip}
	} else {
		serving.DNSNames = append(serving.DNSNames, address)
	}
	client := &x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver-kubelet-client"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	_, servingErr := sign(serving, authority, authorityKey, now, c.ServingCertificate, c.ServingKey)
	_, clientErr := sign(client, authority, authorityKey, now, c.ClientCertificate, c.ClientKey)
	return errors.Join(servingErr, clientErr)
}

// authority loads the authority, or creates one if there is none that is valid for as long as what it signs.
func (c Certificates) authority(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	if pair, err := tls.LoadX509KeyPair(c.Authority, c.AuthorityKey); err == nil && pair.Leaf.NotAfter.After(now.Add(CertificateLife)) {
		if key, ok := pair.PrivateKey.(*ecdsa.PrivateKey); ok {
			return pair.Leaf, key, nil
		}
	}
	authority := &x509.Certificate{
		Subject: pkix.Name{CommonName: "flyte-binary local node"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotAfter: now.Add(authorityLife),
	}
	key, err := sign(authority, nil, nil, now, c.Authority, c.AuthorityKey)
	return authority, key, err
}

// sign creates a key and a certificate, signed by the authority or by itself, and writes both.
func sign(
	cert, authority *x509.Certificate, authorityKey *ecdsa.PrivateKey, now time.Time, certFile, keyFile string,
) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	cert.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("create a serial number: %w", err)
	}
	// A clock that is set back a little must not make them invalid.
	cert.NotBefore = now.Add(-time.Hour)
	if cert.NotAfter.IsZero() {
		cert.NotAfter = now.Add(CertificateLife)
	}
	if authority == nil {
		authority, authorityKey = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, authority, &key.PublicKey, authorityKey)
	if err != nil {
		return nil, fmt.Errorf("create the certificate of %s: %w", cert.Subject.CommonName, err)
	}
	if err := writePEM(certFile, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return key, writePEM(keyFile, "PRIVATE KEY", raw)
}

func writePEM(path, kind string, der []byte) error {
	raw := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	// A reader finds the old certificate or the new one, never half of one.
	next := path + ".next"
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return fmt.Errorf("write a certificate: %w", err)
	}
	return os.Rename(next, path)
}
