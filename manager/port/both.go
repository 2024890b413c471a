package port

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// withTLS returns the listener with the certificate of the configuration, and the settings of TLS; both as they were without one. On
// loopback it accepts plain text too. Clients may present a certificate of one of the authorities; no other.
func withTLS(
	config configuration.ServerConfig, listener net.Listener, authorities []*certfiles.Authorities, clk clock.Clock, log zerolog.Logger,
) (net.Listener, *tls.Config, error) {
	if !config.TLS.Enabled() {
		return listener, nil, nil
	}
	certificate, err := certfiles.NewPair(config.TLS.CertFile, config.TLS.KeyFile, clk, log)
	if err != nil {
		return nil, nil, fmt.Errorf("server.tls: %w", err)
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: certificate.OfServer}
	if len(authorities) > 0 {
		settings.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			asks := settings.Clone()
			asks.GetConfigForClient, asks.ClientAuth, asks.ClientCAs = nil, tls.VerifyClientCertIfGiven, x509.NewCertPool()
			for _, one := range authorities {
				one.AddTo(asks.ClientCAs)
			}
			return asks, nil
		}
	}
	if !Loopback(listener.Addr()) {
		return tls.NewListener(listener, settings), settings, nil
	}
	return newBoth(listener, settings, config.HeaderTimeout), settings, nil
}

// Loopback reports whether only processes of this machine reach an address.
func Loopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// helloByte is the first byte of a TLS connection, of the record of its handshake. No request of HTTP begins with it.
const helloByte = 0x16

// maxUndecided bounds the connections that have not sent their first byte.
const maxUndecided = 10_000

// both is a listener whose connections may speak TLS or plain text: the first byte tells.
type both struct {
	net.Listener
	settings *tls.Config
	patience time.Duration

	decided   chan net.Conn
	failed    chan error
	closed    chan struct{}
	close     sync.Once
	undecided chan struct{} // a slot for each
}

func newBoth(listener net.Listener, settings *tls.Config, patience time.Duration) *both {
	b := &both{
		Listener: listener, settings: settings, patience: patience, decided: make(chan net.Conn), failed: make(chan error, 1),
		closed: make(chan struct{}), undecided: make(chan struct{}, maxUndecided),
	}
	go b.listen()
	return b
}

// listen takes connections until the listener is closed.
func (b *both) listen() {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			if wait, ok := err.(interface{ Temporary() bool }); ok && wait.Temporary() {
				select {
				case <-time.After(10 * time.Millisecond):
					continue
				case <-b.closed:
				}
			}
			b.failed <- err
			return
		}
		select {
		case b.undecided <- struct{}{}:
			go b.decide(conn)
		default:
			conn.Close()
		}
	}
}

// decide waits for the first byte of a connection.
func (b *both) decide(conn net.Conn) {
	defer func() { <-b.undecided }()
	first := make([]byte, 1)
	_ = conn.SetReadDeadline(time.Now().Add(b.patience)) // of a socket; it fails for a closed one, as does the read
	if _, err := conn.Read(first); err != nil {
		conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	var speaks net.Conn = &begun{Conn: conn, first: first}
	if first[0] == helloByte {
		speaks = tls.Server(speaks, b.settings)
	}
	select {
	case b.decided <- speaks:
	case <-b.closed:
		conn.Close()
	}
}

// Accept implements net.Listener.
func (b *both) Accept() (net.Conn, error) {
	select {
	case conn := <-b.decided:
		return conn, nil
	case err := <-b.failed:
		return nil, err
	case <-b.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (b *both) Close() error {
	b.close.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// begun is a connection whose first byte has been read.
type begun struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) > 0 && len(p) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}
