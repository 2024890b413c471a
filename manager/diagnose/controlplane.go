package diagnose

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"os"
	"syscall"

	"connectrpc.com/connect"
)

// AddressFix says what to do about an address that does not answer as the API does.
func AddressFix(address string, err error) string {
	host := address
	if parsed, wrong := url.Parse(address); wrong == nil {
		host = parsed.Host
	}
	var name *net.DNSError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return "correct the host in controlPlane.url: no name server of this cluster knows " + name.Name
	case errors.Is(err, syscall.ECONNREFUSED):
		return "correct the port in controlPlane.url, or start the API or its proxy: nothing listens at " + host
	case errors.As(err, &authority):
		return "add the authority of the certificate of " + host + " to the image, or to the file that SSL_CERT_FILE names"
	case errors.As(err, &hostname):
		return "use a host in controlPlane.url that is in the certificate of the API or of its proxy"
	case errors.As(err, &invalid):
		return "renew the certificate of " + host + ", or set the clock of this machine"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), connect.CodeOf(err) == connect.CodeDeadlineExceeded:
		return "allow connections from this cluster to " + host + ": network policies, firewalls and routes between may drop them"
	case connect.CodeOf(err) == connect.CodeUnimplemented, connect.CodeOf(err) == connect.CodeUnknown:
		return "something else than the API answers at " + host + ": check controlPlane.url, and that its proxy passes all paths and HTTP/2"
	default:
		return "check controlPlane.url, and that a process with target api or all listens there"
	}
}
