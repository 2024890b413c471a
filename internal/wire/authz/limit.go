package authz

import "context"

// Limiter bounds what callers ask of the installation. The chain asks it about calls from the network, once it knows the caller.
// Each error is for the client: it says which limit is reached, whose it is, and when to try again. It is asked for every call,
// so it decides in memory.
type Limiter interface {
	// Request counts one request of the caller, before its body is read.
	Request(ctx context.Context, identity Identity) error
	// Stream takes a place for a stream of the caller until release is called.
	Stream(ctx context.Context, identity Identity) (release func(), err error)
	// Call counts a call that is allowed, by its rule and the resources that it names.
	Call(ctx context.Context, identity Identity, rule Rule, resources []Resource) error
}

// Unlimited is the limiter of an installation without limits.
type Unlimited struct{}

var _ Limiter = Unlimited{}

// Request implements Limiter.
func (Unlimited) Request(context.Context, Identity) error { return nil }

// Stream implements Limiter.
func (Unlimited) Stream(context.Context, Identity) (release func(), err error) {
	return func() {}, nil
}

// Call implements Limiter.
func (Unlimited) Call(context.Context, Identity, Rule, []Resource) error { return nil }
