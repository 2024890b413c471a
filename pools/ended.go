package pools

import (
	"fmt"

	"github.com/flyte-binary/flyte-binary/attempts/exitcode"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// lostBy says why an attempt was lost, as its worker has it; nil for a process that exited with 0. Workers report signals that they
// sent themselves, or that the kernel may have sent, as lost: all others came from the task.
func lostBy(end *workerv1.Ended, template *core.TaskTemplate) *failure.Failure {
	switch end.GetEnd() {
	case workerv1.End_END_EXITED:
		return exitcode.End{Code: end.GetCode(), Own: true}.Failure(fmt.Sprintf("the process ended with exit code %d", end.GetCode()))
	case workerv1.End_END_SIGNALED:
		if end.GetCode() > 0 {
			return exitcode.End{Signal: end.GetCode(), Own: true}.Failure(fmt.Sprintf("the process was ended by signal %d", end.GetCode()))
		}
	case workerv1.End_END_OUT_OF_MEMORY:
		return failure.New(failure.OOMKilled, "%s", end.GetMessage())
	case workerv1.End_END_OUT_OF_MEMORY_TOGETHER:
		return failure.New(failure.WorkerOOM, "%s", end.GetMessage())
	case workerv1.End_END_STOPPED:
		if template.GetMetadata().GetTimeout().AsDuration() > 0 { // the worker enforces it, too
			return overtime(template)
		}
	}
	return failure.New(failure.WorkerLost, "%s", end.GetMessage())
}
