package authz

import (
	"context"
	"crypto/tls"
	"net/http"
)

// Request is what is known of a request before its body is read.
type Request struct {
	// Header has the headers of the request. An authenticator must not change them.
	Header http.Header
	// Token is the token that the path of the request began with, which is no longer part of it; empty for almost all. It is how
	// tasks present theirs.
	Token string
	// Peer is the address of the other end of the connection, as host:port; that of a proxy if there is one.
	Peer string
	// TLS is the state of the connection; nil without TLS.
	TLS *tls.ConnectionState
	// Procedure is the procedure, such as /flyteidl2.task.TaskService/ListTasks, or the pattern of a plain route.
	Procedure string
	// Method is the method of HTTP, such as POST.
	Method string
	// Origin is the Origin header: the site whose page makes the request. Empty outside of browsers.
	Origin string
}

// Authenticator identifies the caller. It returns the anonymous identity for a caller without a credential that it
// knows, and an Unauthenticated error for an invalid credential.
type Authenticator interface {
	Authenticate(ctx context.Context, request Request) (Identity, error)
}

// Lasting is an authenticator whose credentials may end before a call does, such as sessions, keys and the tokens of tasks. It is asked about the callers of
// open streams.
type Lasting interface {
	// Ended returns an Unauthenticated error once the credential of a caller has ended, or a DeadlineExceeded one where another of its
	// kind is all that a client needs to begin again; nil for callers of other authenticators, and while no one can tell.
	Ended(ctx context.Context, identity Identity) error
}

// Open is the authenticator of an installation without authentication: every caller is anonymous.
type Open struct{}

var _ Authenticator = Open{}

// Authenticate implements Authenticator.
func (Open) Authenticate(context.Context, Request) (Identity, error) { return Identity{}, nil }

// InTurn asks authenticators in order. The first that knows the caller or refuses its credential decides; a caller that none
// of them knows is anonymous.
func InTurn(authenticators ...Authenticator) Authenticator { return inTurn(authenticators) }

type inTurn []Authenticator

var _ Lasting = inTurn{}

// Authenticate implements Authenticator.
func (all inTurn) Authenticate(ctx context.Context, request Request) (Identity, error) {
	for _, one := range all {
		identity, err := one.Authenticate(ctx, request)
		if err != nil || identity.Kind != Anonymous {
			return identity, err
		}
	}
	return Identity{}, nil
}

// Ended implements Lasting.
func (all inTurn) Ended(ctx context.Context, identity Identity) error {
	for _, one := range all {
		if lasting, ok := one.(Lasting); ok {
			if err := lasting.Ended(ctx, identity); err != nil {
				return err
			}
		}
	}
	return nil
}
