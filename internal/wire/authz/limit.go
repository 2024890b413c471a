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
	// Names counts a stream that is allowed and names a project, and takes a place in the project until release is called.
	Names(ctx context.Context, identity Identity, project string) (release func(), err error)
	// Call counts a call that is allowed. Streams are none.
	Call(ctx context.Context, identity Identity, call Call) error
}

// Call is a call that is allowed.
type Call struct {
	Rule      Rule
	Resources []Resource
	// Size computes the size of its message in bytes, unpacked.
	Size func() int
}

// ProjectOf is the project in which a call does what its rule says.
func ProjectOf(resources []Resource) (project string, named bool) {
	for _, resource := range resources {
		if resource.Permission == "" && resource.Project != "" {
			return resource.Project, true
		}
	}
	return "", false
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

// Names implements Limiter.
func (Unlimited) Names(context.Context, Identity, string) (release func(), err error) {
	return func() {}, nil
}

// Call implements Limiter.
func (Unlimited) Call(context.Context, Identity, Call) error { return nil }
