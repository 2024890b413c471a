package runs

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
)

// projectHandler serves ProjectService. Its methods are in files of their own, one use case each.
type projectHandler struct {
	projectconnect.UnimplementedProjectServiceHandler
	svc *Service
}

var _ projectconnect.ProjectServiceHandler = (*projectHandler)(nil)
