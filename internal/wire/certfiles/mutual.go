package certfiles

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// MutualConfig is what the processes of an installation know of each other. Each field may be empty.
type MutualConfig struct {
	// CAFile issues the certificates of the processes; CertFile and KeyFile are that of this one.
	CAFile, CertFile, KeyFile string
	// Names are those that the certificates of others may have; none means all.
	Names []string
}

// Mutual is the TLS between the processes of an installation. The zero value is that of one without certificates.
type Mutual struct {
	authorities *Authorities
	own         *Pair
	names       []string
}

// NewMutual reads the files.
func NewMutual(config MutualConfig, clk clock.Clock, log zerolog.Logger) (made Mutual, err error) {
	made.names = config.Names
	if config.CAFile != "" {
		if made.authorities, err = NewAuthorities(config.CAFile, clk, log); err != nil {
			return Mutual{}, err
		}
	}
	if config.CertFile != "" {
		if made.own, err = NewPair(config.CertFile, config.KeyFile, clk, log); err != nil {
			return Mutual{}, err
		}
	}
	return made, nil
}

// Authorities issue the certificates of the processes; nil if there are none.
func (m Mutual) Authorities() *Authorities { return m.authorities }

// Peer reports whether the other end of a connection is a process of the installation. It is nil where no certificate is asked for.
func (m Mutual) Peer() func(*tls.ConnectionState) bool {
	if m.authorities == nil {
		return nil
	}
	return func(state *tls.ConnectionState) bool { return m.authorities.Issued(state, m.names) }
}

// settings are those of a call to another process. They are made for each connection, since files may have changed.
func (m Mutual) settings(protocols ...string) *tls.Config {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols}
	if m.authorities != nil {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		m.authorities.AddTo(pool)
		settings.RootCAs = pool
	}
	if m.own != nil {
		settings.GetClientCertificate = m.own.OfClient
	}
	return settings
}

// dialTimeout bounds how long another process may take to accept a connection.
const dialTimeout = 10 * time.Second

// DialTLS is http.Transport.DialTLSContext, for calls to other processes by some protocols, such as h2.
func (m Mutual) DialTLS(protocols ...string) func(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&tls.Dialer{NetDialer: dialer, Config: m.settings(protocols...)}).DialContext(ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", address, err)
		}
		return conn, nil
	}
}
