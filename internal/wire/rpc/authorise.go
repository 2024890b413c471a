package rpc

import (
	"context"

	"google.golang.org/protobuf/proto"
)

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

// Rule is the authorisation rule of a procedure or a route.
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
	// Authorise returns how much of the resource the caller may see, or a PermissionDenied or Unauthenticated error.
	// A Scope other than Everything is an answer to rules that list. The caller of any other rule is denied unless the
	// resource itself lies within the scope.
	Authorise(ctx context.Context, identity Identity, rule Rule, resource Resource) (Scope, error)
}

// AllowAll is the authoriser of an installation without authentication.
type AllowAll struct{}

var _ Authoriser = AllowAll{}

// Authorise implements Authoriser.
func (AllowAll) Authorise(context.Context, Identity, Rule, Resource) (Scope, error) {
	return Everything(), nil
}

// authorisation calls the authoriser, by the table of procedures and the messages of the call.
type authorisation struct {
	authoriser Authoriser
	extract    extractors
}

// admit decides what is known before any message: a procedure without a rule is denied, and internal procedures are for
// services.
func admit(ctx context.Context, name string, row procedure, known bool) error {
	switch {
	case !known || row.class == 0:
		return PermissionDenied("no rule allows %s", name)
	case row.class == ClassInternal && !isInternal(ctx):
		return PermissionDenied("%s is internal", name)
	}
	return nil
}

// asked reports whether the authoriser decides about the messages of an admitted call.
func asked(ctx context.Context, row procedure) bool {
	switch row.class {
	case ClassUser, ClassTask:
		// A service that calls on behalf of a caller has the permissions of that caller.
		return IdentityFrom(ctx).Caller != CallerInternal
	default:
		return false
	}
}

// about is what a message is about.
func (a *authorisation) about(name string, row procedure, message any) ([]Resource, error) {
	request, ok := message.(proto.Message)
	if !ok {
		return nil, Internal(nil, "%s takes a %T, which authorisation cannot read", name, message)
	}
	resources, err := a.extract.of(name, row.on, request)
	if err != nil {
		return nil, Internal(err, "%s cannot be authorised", name)
	}
	return resources, nil
}

// message asks about every resource of a message and returns what the lists of the call may show.
func (a *authorisation) message(ctx context.Context, name string, row procedure, message any) (Scope, error) {
	resources, err := a.about(name, row, message)
	if err != nil {
		return Scope{}, err
	}
	all := Everything()
	for _, resource := range resources {
		scope, err := a.one(ctx, row.rule(), resource)
		if err != nil {
			return Scope{}, err
		}
		all = all.and(scope)
	}
	return all, nil
}

// one asks about one resource.
func (a *authorisation) one(ctx context.Context, rule Rule, resource Resource) (Scope, error) {
	scope, err := a.authoriser.Authorise(ctx, IdentityFrom(ctx), rule, resource)
	if err != nil {
		return Scope{}, err
	}
	if !rule.Lists && !scope.All && (resource.Project == "" || !scope.Allows(resource.Project, resource.Domain)) {
		return Scope{}, PermissionDenied("%s is not allowed on %s", rule.Action, resource)
	}
	return scope, nil
}
