package authz

import (
	"context"
	"time"
)

// Kind says what sort of caller a request has.
type Kind uint8

// The kinds of callers.
const (
	// Anonymous is a caller without a credential; without authentication, every caller from the network.
	Anonymous Kind = iota
	// User is a person who signed in.
	User
	// Key is a program with an API key.
	Key
	// Task is the process of an attempt, or a replica of an app.
	Task
	// Worker is a worker of a pool.
	Worker
	// Cluster is the controller of a cluster.
	Cluster
	// Service is a service of this installation.
	Service
)

// kindNames are those of the kinds, for logs and policies.
var kindNames = [...]string{
	Anonymous: "anonymous", User: "user", Key: "key", Task: "task", Worker: "worker", Cluster: "cluster", Service: "service",
}

// String is the kind in one word.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Identity is who makes a call. Its zero value is the anonymous caller.
type Identity struct {
	Kind Kind
	// Subject is the stable name of the caller at its issuer; empty for the anonymous one.
	Subject string
	// Name and Email are for display; may be empty.
	Name, Email string
	// Groups are those of the caller at its issuer, for policies.
	Groups []string
	// Credential names the key, the token or the session by which the caller proved who it is, for records of what was
	// done. It is not a secret; may be empty.
	Credential string
	// Until is when the token by which the caller proved who it is is no longer accepted; zero for a credential that is
	// looked up each time.
	Until time.Time
	// Attempt is the attempt that a task's process runs; nil for other kinds.
	Attempt *Attempt
	// App is the app of which a process is a replica. Such a caller is of the kind Task, without an attempt; nil for all others.
	App *App
	// Pool is the pool of a worker; nil for other kinds.
	Pool *Pool
	// Cluster is the cluster of a controller or of a worker; empty for other kinds.
	Cluster string
}

// Attempt is what the process of a task acts for.
type Attempt struct {
	Project, Domain, Run, Action string
	// UID tells the action from those that had its name before; empty if it is not known.
	UID string
	// Number counts from 1.
	Number uint32
}

// App is what a replica of an app acts for.
type App struct {
	Project, Domain, Name string
	// UID tells the app from those that had its name before; empty if it is not known.
	UID      string
	Revision uint64
}

// Pool is what a worker works for.
type Pool struct {
	Project, Domain, Name string
	ID                    int64
}

type identityKey struct{}

// WithIdentity gives ctx an identity. The gate does it for requests. The identity also crosses in-process calls, so that a
// service acts on behalf of its caller.
func WithIdentity(ctx context.Context, identity Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, identity)
}

// AsService gives ctx the identity of a service of this installation, for calls that a loop makes on behalf of no caller.
// Such a caller may do everything; the name says which loop it is, where authors are recorded.
func AsService(ctx context.Context, name string) context.Context {
	return WithIdentity(ctx, Identity{Kind: Service, Subject: name})
}

// IdentityFrom is the caller of the request to which ctx belongs; anonymous when there is none.
func IdentityFrom(ctx context.Context) Identity {
	identity, _ := IdentityIn(ctx)
	return identity
}

// IdentityIn is the identity that ctx was given, and whether it was given one.
func IdentityIn(ctx context.Context) (Identity, bool) {
	identity, ok := ctx.Value(identityKey{}).(Identity)
	return identity, ok
}
