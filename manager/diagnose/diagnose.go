// Package diagnose explains why something that the process depends on does not work: which part, what was tried, and what to do.
// Commands, the start of the server, its readiness and doctor use the same explanations. It knows the errors of Postgres, of
// Kubernetes, of object stores and of networks, and builds on the configurations of internal/pg/pgdb and internal/blob/blobstore.
package diagnose

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// Failure is a part that does not work.
type Failure struct { //nolint:errname // it is a finding first: doctor prints it without returning it
	// Part names it: database, API server, storage, port.
	Part string
	// Tried is what was tried, with the address and without passwords, such as "connect to db:5432".
	Tried string
	// Cause says in one line why that failed.
	Cause string
	// Fix says what to do.
	Fix string
	// Err is the error itself.
	Err error
}

// Error implements error. It is one line.
func (f *Failure) Error() string { return f.Part + ": " + f.Problem() + "; " + f.Fix }

// Problem is what was tried and why it failed.
func (f *Failure) Problem() string {
	if f.Tried == "" {
		return f.Cause
	}
	return f.Tried + ": " + f.Cause
}

// Unwrap returns the error itself.
func (f *Failure) Unwrap() error { return f.Err }

// oneLine is the text of an error without line breaks.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\t' }), " ")
}

// network explains errors of connections; ok is false for all others. fix is what to do if nothing listens at the address.
func network(err error, fix string) (cause, remedy string, ok bool) {
	var name *net.DNSError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("the host name %s cannot be resolved", name.Name), "correct the name, or check the name server of this machine; " + fix, true
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nothing listens there", fix, true
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to the host", "check the network between this machine and the host; " + fix, true
	case errors.As(err, &unknown):
		return "its certificate is signed by an authority that this machine does not know", "add the authority's certificate to those of this machine", true
	case errors.As(err, &invalid), errors.As(err, &host):
		return "its certificate is not valid: " + oneLine(err), "correct the host name, or renew the certificate", true
	case errors.As(err, &record):
		return "it does not speak TLS there", "use http instead of https, or the port that speaks TLS", true
	case isTimeout(err):
		return "no answer in time", "check that the host is up and that no firewall drops the connection; " + fix, true
	default:
		return "", "", false
	}
}

func isTimeout(err error) bool {
	var slow net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &slow) && slow.Timeout()
}
