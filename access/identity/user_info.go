// Package identity serves IdentityService and AuthMetadataService: who the caller is, and how clients sign in.
package identity

import (
	"cmp"
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth/authconnect"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Users serves IdentityService.
type Users struct{}

var _ authconnect.IdentityServiceHandler = Users{}

// UserInfo implements authconnect.IdentityServiceHandler. A caller without a proven identity is described as anonymous:
// without authentication that is everybody, and the subject is the one by which their runs are found again.
func (Users) UserInfo(ctx context.Context, _ *auth.UserInfoRequest) (*auth.UserInfoResponse, error) {
	identity := authz.IdentityFrom(ctx)
	subject := caller.Subject(ctx)
	name := cmp.Or(identity.Name, subject)
	return &auth.UserInfoResponse{Subject: subject, Name: name, PreferredUsername: name, Email: identity.Email}, nil
}
