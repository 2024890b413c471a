package authz

import "context"

// Rule is the authorization rule of a procedure or a route.
type Rule struct {
	// By says which kinds of callers may call at all. It is decided before the body of a request is read.
	By Kinds
	// Action is the permission that policies name, as noun.verb.
	Action string
	// Lists means that the handler narrows its answer to the Scope of the decision.
	Lists bool
	// Members means that every member of the installation may call, whatever its roles. The authoriser refuses only callers
	// who are not members; the scope of its answer does not matter.
	Members bool
	// Nameless means that Members holds for a request that names nothing.
	Nameless bool
}

// on is the rule for one of the resources of a request.
func (r Rule) on(resource Resource) Rule {
	if resource.Permission == "" {
		r.Members = r.Members || r.Nameless && resource == Resource{Org: resource.Org}
		return r
	}
	return Rule{By: r.By, Action: resource.Permission}
}

// Authoriser decides whether a caller may do something to a resource. It is asked for each resource of a request of
// users, keys, tasks and anonymous callers, and not about what is open or for parts of the installation. It is called for every request and every new resource of a
// stream, so it decides in memory.
type Authoriser interface {
	// Authorise returns how much of the resource the caller may see, or a PermissionDenied or Unauthenticated error.
	// The rule is that of the procedure, with the permission that this resource takes.
	// A Scope other than Everything is an answer to rules that list. The caller of any other rule is denied unless the
	// resource itself is within the scope, or the rule is for members.
	Authorise(ctx context.Context, identity Identity, rule Rule, resource Resource) (Scope, error)
}

// Changing is an authoriser whose answers change while the process runs. Open streams are then decided again.
type Changing interface {
	// Changed returns a channel that is closed when answers may differ from those before.
	Changed() <-chan struct{}
}

// AllowAll is the authoriser of an installation without authentication.
type AllowAll struct{}

var _ Authoriser = AllowAll{}

// Authorise implements Authoriser.
func (AllowAll) Authorise(context.Context, Identity, Rule, Resource) (Scope, error) {
	return Everything(), nil
}
