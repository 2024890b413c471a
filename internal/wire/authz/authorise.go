package authz

import "context"

// Class says who may call a procedure or a route at all.
type Class uint8

// The classes, from open to closed. The zero value is no class, so that a forgotten one denies.
const (
	// ClassPublic needs no authentication: sign-in metadata, health, the files of the console.
	ClassPublic Class = iota + 1
	// ClassSigned is for holders of a URL: the handler checks a signature or a token in it.
	ClassSigned
	// ClassUser is for people and their programs.
	ClassUser
	// ClassTask is for the processes of tasks, and for people.
	ClassTask
	// ClassWorker is for workers of reusable environments: the handler checks the bearer token, which is that of one worker and
	// gives it the work of its pool, and nothing else.
	ClassWorker
	// ClassInternal is for services of this installation: in the same process, or with the internal credential.
	ClassInternal
)

// Rule is the authorization rule of a procedure or a route.
type Rule struct {
	Class Class
	// Action is the permission that policies name, as noun.verb.
	Action string
	// Lists means that the handler narrows its answer to the Scope of the decision.
	Lists bool
}

// Authoriser decides whether a caller may do something to a resource. It is asked for each resource of a request, and
// not about public, signed, worker and internal procedures. It is called for every request and every new resource of a
// stream, so it decides in memory.
type Authoriser interface {
	// Authorize returns how much of the resource the caller may see, or a PermissionDenied or Unauthenticated error.
	// A Scope other than Everything is an answer to rules that list. The caller of any other rule is denied unless the
	// resource itself is within the scope.
	Authorise(ctx context.Context, identity Identity, rule Rule, resource Resource) (Scope, error)
}

// AllowAll is the authoriser of an installation without authentication.
type AllowAll struct{}

var _ Authoriser = AllowAll{}

// Authorize implements Authoriser.
func (AllowAll) Authorise(context.Context, Identity, Rule, Resource) (Scope, error) {
	return Everything(), nil
}
