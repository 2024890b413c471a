package pools

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// lostBy says why an attempt was lost, as its worker has it; nil for a process that exited with 0.
func lostBy(end *workerv1.Ended, template *core.TaskTemplate) *failure.Failure {
	detail := func(words string) string {
		if message := strings.TrimSpace(end.GetMessage()); message != "" {
			return words + ":\n" + message
		}
		return words
	}
	switch end.GetEnd() {
	case workerv1.End_END_EXITED:
		if end.GetCode() == 0 {
			return nil
		}
		return failure.New(failure.ContainerFailed, "%s", detail(fmt.Sprintf("the process ended with exit code %d", end.GetCode())))
	case workerv1.End_END_SIGNALED:
		return signalled(syscall.Signal(end.GetCode()), detail(fmt.Sprintf("the process was ended by signal %d", end.GetCode())))
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

// signalled is the failure of a process that was ended by a signal of the task: the worker reports those that it sent itself, or that
// the kernel may have sent, as lost.
func signalled(signal syscall.Signal, detail string) *failure.Failure {
	if signal == syscall.SIGSEGV {
		return failure.New(failure.SegmentationFault, "%s", detail)
	}
	return failure.New(failure.Signalled, "%s", detail)
}
