package rpc

import "context"

// Class says who may call a procedure at all.
type Class uint8

// The classes, from open to closed. The zero value is no class, so that a forgotten one denies.
const (
	// ClassPublic is for everybody, before any login: how to log in, whether we live.
	ClassPublic Class = iota + 1
	// ClassUser is for people and their programs.
	ClassUser
	// ClassTask is for the processes of tasks, and for people.
	ClassTask
	// ClassInternal is for services of this installation: in the same process, or with the internal credential.
	ClassInternal
)

// Rule is what authorisation knows about a procedure.
type Rule struct {
	Class Class
	// Action is the name that policies use, as noun.verb.
	Action string
}

// Authoriser decides whether a caller may do something. It is not asked about public and internal procedures.
type Authoriser interface {
	// Authorise returns nil, or a PermissionDenied or Unauthenticated error.
	Authorise(ctx context.Context, identity Identity, rule Rule) error
}

// AllowAll is the authoriser of an installation without authentication.
type AllowAll struct{}

var _ Authoriser = AllowAll{}

// Authorise implements Authoriser.
func (AllowAll) Authorise(context.Context, Identity, Rule) error { return nil }

// authorise looks the procedure up in the table and asks. What is not in the table is refused.
func authorise(authoriser Authoriser) around {
	return func(ctx context.Context, call call, next func(context.Context) error) error {
		rule, known := RuleOf(call.procedure)
		if !known {
			return answer(ctx, PermissionDenied("no rule allows %s", call.procedure))
		}
		identity := IdentityFrom(ctx)
		switch {
		case rule.Class == ClassPublic:
			return next(ctx)
		case rule.Class == ClassInternal:
			if !isInternal(ctx) {
				return answer(ctx, PermissionDenied("%s is internal", call.procedure))
			}
			return next(ctx)
		case identity.Caller == CallerInternal:
			return next(ctx)
		}
		// A service that calls on behalf of somebody may do what that somebody may.
		if err := authoriser.Authorise(ctx, identity, rule); err != nil {
			return answer(ctx, err)
		}
		return next(ctx)
	}
}
