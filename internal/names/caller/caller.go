// Package caller names who makes a request, as the contract and the database write it. It builds on internal/wire/rpc, which
// authenticates the caller.
package caller

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// AnonymousSubject is the subject under which callers without a proven identity are recorded and described. It is not
// empty, so that a client which asks for its own runs gets those of all anonymous callers and not everybody's.
const AnonymousSubject = "anonymous"

// Subject is who is recorded as the author of what the request creates.
func Subject(ctx context.Context) string {
	return cmp.Or(authz.IdentityFrom(ctx).Subject, AnonymousSubject)
}

// Identity is the caller as the contract writes it: people are users, as are anonymous callers, who may be people; tasks, keys
// and services are applications.
func Identity(ctx context.Context) *common.EnrichedIdentity {
	identity := authz.IdentityFrom(ctx)
	if identity.Kind != authz.User && identity.Kind != authz.Anonymous {
		return &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_Application{Application: &common.Application{
			Id:   &common.ApplicationIdentifier{Subject: Subject(ctx)},
			Spec: &common.AppSpec{Name: cmp.Or(identity.Name, task(identity.Attempt))},
		}}}
	}
	return &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_User{User: &common.User{
		Id:   &common.UserIdentifier{Subject: Subject(ctx)},
		Spec: &common.UserSpec{FirstName: identity.Name, Email: identity.Email},
	}}}
}

// task names the action that a task's process runs, with its run; empty for other callers. The contract has no field for it.
func task(a *authz.Attempt) string {
	if a == nil {
		return ""
	}
	return ident.Action{Run: ident.Run{Project: a.Project, Domain: a.Domain, Name: a.Run}, Name: a.Action}.String()
}

// SubjectOf is the subject of an identity as the contract writes it, whatever its kind.
func SubjectOf(identity *common.EnrichedIdentity) string {
	if app := identity.GetApplication(); app != nil {
		return app.GetId().GetSubject()
	}
	return identity.GetUser().GetId().GetSubject()
}

// Actor is who did what a request reports: the caller, or the identity that the request names when the caller has none
// of its own or is another service of the installation.
func Actor(ctx context.Context, named *common.EnrichedIdentity) *common.EnrichedIdentity {
	identity := authz.IdentityFrom(ctx)
	if named != nil && (identity.Subject == "" || identity.Kind == authz.Service) {
		return named
	}
	return Identity(ctx)
}

// Encoded is Identity as it is stored.
func Encoded(ctx context.Context) ([]byte, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(Identity(ctx))
	if err != nil {
		return nil, rpc.Internal(err, "the caller's identity cannot be stored")
	}
	return body, nil
}
