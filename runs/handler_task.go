package runs

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
)

// taskHandler serves TaskService. Its methods are in files of their own, one use case each.
type taskHandler struct {
	taskconnect.UnimplementedTaskServiceHandler
	svc *Service
}

var _ taskconnect.TaskServiceHandler = (*taskHandler)(nil)
