package access

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// SignInRequired is the authenticator behind all others, of an installation with access control: no caller is anonymous.
type SignInRequired struct{}

var _ authz.Authenticator = SignInRequired{}

// Authenticate implements authz.Authenticator.
func (SignInRequired) Authenticate(_ context.Context, request authz.Request) (authz.Identity, error) {
	if request.Header.Get("Authorization") != "" {
		return authz.Identity{}, rpc.Unauthenticated("the token is not valid here: it is unknown, or has ended; sign in again")
	}
	return authz.Identity{}, rpc.Unauthenticated("sign in first: this server knows no anonymous callers")
}
