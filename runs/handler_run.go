package runs

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

// runHandler serves RunService. Its methods are in files of their own, one use case each.
type runHandler struct {
	workflowconnect.UnimplementedRunServiceHandler
	svc *Service
}

var _ workflowconnect.RunServiceHandler = (*runHandler)(nil)
