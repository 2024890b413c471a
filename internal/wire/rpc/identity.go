package rpc

import "context"

// Caller says what sort of caller a request has.
type Caller uint8

// The sorts of callers.
const (
	// CallerAnonymous is anybody; with authentication off, every caller from the network.
	CallerAnonymous Caller = iota
	// CallerUser is a person or an application that proved who it is.
	CallerUser
	// CallerTask is a task's process.
	CallerTask
	// CallerInternal is a service of this installation.
	CallerInternal
)

// Identity is who makes a call. Its zero value is the anonymous caller.
type Identity struct {
	Caller Caller
	// Subject is the stable name of the caller at its issuer; empty for the anonymous one.
	Subject string
	// Name and Email are for display; may be empty.
	Name, Email string
}

type identityKey struct{}

// WithIdentity gives ctx an identity. The authenticate interceptor does it for requests; it also crosses in-process
// calls, so that a service acts on behalf of its caller.
func WithIdentity(ctx context.Context, identity Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, identity)
}

// AsService gives ctx the identity of a service of this installation, for calls that a loop makes for nobody. Such a
// caller may do everything; the name says which loop it is, where authors are recorded.
func AsService(ctx context.Context, name string) context.Context {
	return WithIdentity(ctx, Identity{Caller: CallerInternal, Subject: name})
}

// IdentityFrom is the caller of the request to which ctx belongs; anonymous when there is none.
func IdentityFrom(ctx context.Context) Identity {
	identity, _ := ctx.Value(identityKey{}).(Identity)
	return identity
}
