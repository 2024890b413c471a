package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// UserInfo implements authconnect.IdentityServiceHandler. A caller without a proven identity is described as anonymous:
// without authentication that is everybody, and the subject is the one by which their runs are found again.
func (h *identityHandler) UserInfo(ctx context.Context, _ *auth.UserInfoRequest) (*auth.UserInfoResponse, error) {
	identity := rpc.IdentityFrom(ctx)
	subject := callerSubject(ctx)
	name := identity.Name
	if name == "" {
		name = subject
	}
	return &auth.UserInfoResponse{Subject: subject, Name: name, PreferredUsername: name, Email: identity.Email}, nil
}
