package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"syscall"

	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// listen opens the port; its errors say how to choose another one.
func listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &diagnose.Failure{
			Part: "port", Cause: address + " is in use, by another demo or another program", Err: err,
			Fix: fmt.Sprintf("choose another port with --listen %s, or any free one with port 0", diagnose.NextPort(address)),
		}
	case errors.Is(err, syscall.EACCES):
		return nil, &diagnose.Failure{
			Part: "port", Cause: address + " requires more privileges", Err: err, Fix: "choose a port above 1023 with --listen " + defaultListen,
		}
	default:
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
}

// isLoopback reports whether only this machine can reach the host.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// authority is host:port for clients on this machine and for tasks.
func (d *demo) authority() string {
	return net.JoinHostPort(d.host, strconv.Itoa(d.listener.Addr().(*net.TCPAddr).Port)) //nolint:forcetypeassert // a TCP listener has no other
}

// hostFor is the name of an address that is listened on: host is what the options say of it. A loopback address becomes localhost, or
// Debian's other name, where that name leads to it: the SDK defaults to plain text there, reads an organization out of the first part
// of other names, and cannot print links with brackets. lookup returns the addresses of a name.
func hostFor(host string, ip net.IP, lookup func(name string) ([]net.IP, error)) string {
	const local = "localhost"
	if host != "" && host != local && net.ParseIP(host) == nil {
		return host
	}
	if ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
	}
	if !ip.IsLoopback() {
		return ip.String()
	}
	for _, name := range []string{local, "ip6-" + local} {
		if found, err := lookup(name); err == nil && slices.ContainsFunc(found, ip.Equal) {
			return name
		}
	}
	return ip.String()
}

// lookup asks the resolver of this machine.
func lookup(ctx context.Context) func(name string) ([]net.IP, error) {
	return func(name string) ([]net.IP, error) { return net.DefaultResolver.LookupIP(ctx, "ip", name) }
}

func (d *demo) url() string { return "http://" + d.authority() }
