package manager

import (
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/port"
)

// fillAddresses derives the addresses that are not configured from that of the API: the port that was bound or, for a
// controller, the control plane.
func fillAddresses(c *configuration.Config, bound net.Addr) {
	authority, insecure := authority(c, bound), true
	if plane, err := url.Parse(c.ControlPlane.URL); err == nil && !c.Target.API() {
		authority, insecure = plane.Host, plane.Scheme == "http"
	}
	encrypted := c.Target.API() && c.Server.TLS.Enabled()
	if encrypted && !port.Loopback(bound) {
		insecure = false
	}
	if c.Access.PublicURL == "" && c.Storage.PublicURL == "" && encrypted {
		c.Access.PublicURL = "https://" + authority // the port speaks plain text as well, which suits tasks, but no credentials
	}
	if c.Storage.PublicURL == "" {
		c.Storage.PublicURL = "http://" + authority
		if !insecure {
			c.Storage.PublicURL = "https://" + authority
		}
	}
	if c.Runs.Webhooks.PublicURL == "" {
		c.Runs.Webhooks.PublicURL = c.Storage.PublicURL
	}
	if c.Access.PublicURL == "" {
		c.Access.PublicURL = c.Storage.PublicURL
	}
	if c.Executor.Pod.Endpoint == "" {
		c.Executor.Pod.Endpoint, c.Executor.Pod.Insecure = authority, insecure
	}
}

// authority is the host and port at which processes on this machine reach the server. The SDK reads an organization out of
// a numeric address, so loopback addresses become localhost.
func authority(c *configuration.Config, bound net.Addr) string {
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
