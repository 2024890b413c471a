package runs

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth/authconnect"
)

// authMetadataHandler serves AuthMetadataService. Its methods are in files of their own, one use case each.
type authMetadataHandler struct {
	authconnect.UnimplementedAuthMetadataServiceHandler
	svc *Service
}

var _ authconnect.AuthMetadataServiceHandler = (*authMetadataHandler)(nil)
