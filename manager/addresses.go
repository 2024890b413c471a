package manager

import (
	"errors"
	"fmt"
	"net"
)

// fillAddresses derives what was left open from the port that was bound.
func (c *Config) fillAddresses(bound net.Addr) {
	authority := c.authority(bound)
	if c.Storage.PublicURL == "" {
		c.Storage.PublicURL = "http://" + authority
	}
	if c.Runs.Webhooks.PublicURL == "" {
		c.Runs.Webhooks.PublicURL = c.Storage.PublicURL
	}
	if c.Executor.Pod.Endpoint == "" {
		c.Executor.Pod.Endpoint, c.Executor.Pod.Insecure = authority, true
	}
}

// authority is the host and port at which processes on this machine reach us. The SDK makes an organisation of an
// address in digits, hence localhost where that is the same.
func (c *Config) authority(bound net.Addr) string {
	host, port, err := net.SplitHostPort(bound.String())
	if err != nil {
		return bound.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() || ip.Equal(net.IPv4(127, 0, 0, 1)) || ip.Equal(net.IPv6loopback) {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

func closeListener(listener net.Listener) error {
	if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the port: %w", err)
	}
	return nil
}
