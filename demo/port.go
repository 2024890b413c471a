package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// listen opens the port; its errors say how to choose another one.
func listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use, by another demo or another program: choose another port with --listen %s, or any free one with port 0",
			address, nextPort(address))
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s requires more privileges: choose a port above 1023 with --listen %s", address, defaultListen)
	default:
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
}

func nextPort(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return defaultListen
	}
	number, err := strconv.Atoi(port)
	if err != nil || number >= 65535 {
		return net.JoinHostPort(host, "0")
	}
	return net.JoinHostPort(host, strconv.Itoa(number+1))
}

// isLoopback reports whether only this machine can reach the host.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// authority is host:port for clients on this machine and for tasks. A loopback address becomes localhost: the SDK defaults
// to plain text there, and reads an organisation out of the first part of other names.
func (d *demo) authority() string {
	host, _, _ := net.SplitHostPort(d.opts.Listen)
	ip := net.ParseIP(host)
	if host == "" || isLoopback(host) || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, strconv.Itoa(d.listener.Addr().(*net.TCPAddr).Port)) //nolint:forcetypeassert // a TCP listener has no other
}

func (d *demo) url() string { return "http://" + d.authority() }
