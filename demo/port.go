package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
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
