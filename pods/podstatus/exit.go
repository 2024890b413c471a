package podstatus

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/exitcode"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
)

// Reasons of container runtimes and kubelets.
const (
	runtimeOOM        = "OOMKilled"
	runtimeCannotRun  = "ContainerCannotRun"
	runtimeStartError = "StartError"
	runtimeStatusLost = "ContainerStatusUnknown"
	runtimeStopped    = "SupervisorStopped" // of the demo's node: the container has stopped what watches it
)

// ofContainer diagnoses the end of a container's process; nil when it ended without an error.
func ofContainer(name string, end *corev1.ContainerStateTerminated) *failure.Failure {
	detail := exitDetail(name, end)
	switch end.Reason {
	case runtimeOOM:
		return failure.New(failure.OOMKilled, detail)
	case runtimeCannotRun, runtimeStartError:
		return failure.New(failure.StartError, detail)
	case runtimeStatusLost:
		return failure.New(failure.NodeLost, detail)
	case runtimeStopped:
		return failure.New(failure.Signalled, detail)
	}
	return exitcode.End{Code: end.ExitCode, Signal: end.Signal, Log: end.Message}.Failure(detail)
}

// exitDetail describes the end of a container, with the end of its log if the kubelet has put it into the status. The
// reasons Error and Completed say no more than the exit code.
func exitDetail(name string, end *corev1.ContainerStateTerminated) string {
	detail := fmt.Sprintf("container %s ended with exit code %d", name, end.ExitCode)
	switch end.Reason {
	case "", "Error", "Completed":
	default:
		detail += ", " + end.Reason
	}
	return withLog(detail, end.Message)
}
