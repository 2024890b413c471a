package podstatus

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
)

// Reasons and exit codes of container runtimes and kubelets.
const (
	runtimeOOM         = "OOMKilled"
	runtimeCannotRun   = "ContainerCannotRun"
	runtimeStartError  = "StartError"
	runtimeStatusLost  = "ContainerStatusUnknown"
	runtimeStopped     = "SupervisorStopped" // of the demo's node: the container has stopped what watches it
	exitSignalBase     = 128
	exitKilledByLegacy = 247 // the exit code of a killed child in the shells of some runtimes
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
	switch code := end.ExitCode; {
	case code == 0:
		return nil
	case beforeTheTask(end.Message):
		return failure.New(failure.RuntimeNotStarted, detail)
	case code == exitKilledByLegacy:
		return failure.New(failure.Killed, detail)
	case code > exitSignalBase && code < exitSignalBase+65:
		return ofSignal(code-exitSignalBase, detail)
	case end.Signal > 0:
		return ofSignal(end.Signal, detail)
	default:
		return failure.New(failure.ContainerFailed, detail)
	}
}

// beforeTheTask reports whether the SDK's program gave up before it loaded the task. It reports errors of the task, and
// errors while it loads the task, in an error document; those of its own start only as the last traceback of its log. What
// follows the traceback is the end of the interpreter.
func beforeTheTask(message string) bool {
	last := message[max(0, strings.LastIndex(message, "Traceback (most recent call last)")):]
	for line := range strings.Lines(last) {
		if strings.HasPrefix(line, "TimeoutError: Controller thread failed to start in time") ||
			strings.HasPrefix(line, "flyte.errors.RuntimeSystemError: Controller thread startup failed") {
			return true
		}
	}
	return false
}

func ofSignal(signal int32, detail string) *failure.Failure {
	switch signal {
	case 9:
		return failure.New(failure.Killed, detail)
	case 15:
		return failure.New(failure.Terminated, detail)
	case 11:
		return failure.New(failure.SegmentationFault, detail)
	}
	if name := signalName(signal); name != "" {
		return failure.New(failure.Signalled, name+", "+detail)
	}
	// Programs use such numbers as plain exit codes, too.
	return failure.New(failure.ContainerFailed, detail)
}

// signalName returns the name of a signal that ends programs, by its number on Linux; empty for others.
func signalName(signal int32) string {
	return map[int32]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
		10: "SIGUSR1", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
	}[signal]
}

func exitDetail(name string, end *corev1.ContainerStateTerminated) string {
	detail := fmt.Sprintf("container %s ended with exit code %d", name, end.ExitCode)
	switch end.Reason {
	case "", "Error", "Completed":
	default:
		detail += ", " + end.Reason
	}
	return withLog(detail, end.Message)
}
