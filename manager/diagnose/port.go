package diagnose

import (
	"errors"
	"net"
	"strconv"
	"syscall"
)

// Port explains why an address cannot be listened on. key is the key that configures it.
func Port(key, listen string, err error) error {
	if err == nil {
		return nil
	}
	f := &Failure{Part: "port", Tried: "listen on " + listen, Cause: oneLine(err), Fix: "correct " + key, Err: err}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		f.Cause = "the port is in use by another program"
		f.Fix = "stop that program, or choose another port, such as --set " + key + "=" + NextPort(listen)
	case errors.Is(err, syscall.EACCES):
		f.Cause, f.Fix = "ports below 1024 require more privileges", "choose a higher port in "+key
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		f.Cause, f.Fix = "this machine does not have the address", "set "+key+" to an address of this machine, or to 0.0.0.0 for all"
	default:
		if cause, _, ok := network(err, ""); ok {
			f.Cause = cause
		}
	}
	return f
}

// NextPort is the address with the port after it; with port 0, which means any free one, after the last.
func NextPort(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	number, err := strconv.Atoi(port)
	if err != nil || number >= 65535 {
		return net.JoinHostPort(host, "0")
	}
	return net.JoinHostPort(host, strconv.Itoa(number+1))
}
