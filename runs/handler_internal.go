package runs

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

// internalHandler serves InternalRunService. Its methods are in files of their own, one use case each.
type internalHandler struct {
	workflowconnect.UnimplementedInternalRunServiceHandler
	svc *Service
}

var _ workflowconnect.InternalRunServiceHandler = (*internalHandler)(nil)
