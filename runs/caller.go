package runs

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// AnonymousSubject is the subject under which callers without a proven identity are recorded and described. It is not
// empty, so that a client which asks for its own runs gets those of all anonymous callers and not everybody's.
const AnonymousSubject = "anonymous"

// callerSubject is who is recorded as the author of what the request makes.
func callerSubject(ctx context.Context) string {
	if subject := rpc.IdentityFrom(ctx).Subject; subject != "" {
		return subject
	}
	return AnonymousSubject
}

// callerIdentity is the caller as the contract writes it.
func callerIdentity(ctx context.Context) *common.EnrichedIdentity {
	identity := rpc.IdentityFrom(ctx)
	return &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_User{User: &common.User{
		Id:   &common.UserIdentifier{Subject: callerSubject(ctx)},
		Spec: &common.UserSpec{FirstName: identity.Name, Email: identity.Email},
	}}}
}

// actor is who did what a request tells of: the caller, or whom a caller names that has no identity of its own or is
// another service of the installation.
func actor(ctx context.Context, named *common.EnrichedIdentity) *common.EnrichedIdentity {
	identity := rpc.IdentityFrom(ctx)
	if named != nil && (identity.Subject == "" || identity.Caller == rpc.CallerInternal) {
		return named
	}
	return callerIdentity(ctx)
}

// encodedCaller is callerIdentity as it is stored.
func encodedCaller(ctx context.Context) ([]byte, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(callerIdentity(ctx))
	if err != nil {
		return nil, rpc.Internal(err, "the caller's identity cannot be stored")
	}
	return body, nil
}
