package runs

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth/authconnect"
)

// identityHandler serves IdentityService. Its methods are in files of their own, one use case each.
type identityHandler struct {
	authconnect.UnimplementedIdentityServiceHandler
	svc *Service
}

var _ authconnect.IdentityServiceHandler = (*identityHandler)(nil)
