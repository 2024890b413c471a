package failure

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// What container runtimes and kubelets call things.
const (
	runtimeOOM         = "OOMKilled"
	runtimeCannotRun   = "ContainerCannotRun"
	runtimeStartError  = "StartError"
	runtimeStatusLost  = "ContainerStatusUnknown"
	exitSignalBase     = 128
	exitKilledByLegacy = 247 // some runtimes' shells report a killed child so
)

// OfContainer classifies the end of a container's process; nil when it ended well.
func OfContainer(name string, end *corev1.ContainerStateTerminated) *Failure {
	detail := exitDetail(name, end)
	switch end.Reason {
	case runtimeOOM:
		return New(OOMKilled, detail)
	case runtimeCannotRun, runtimeStartError:
		return New(StartError, detail)
	case runtimeStatusLost:
		return New(NodeLost, detail)
	}
	switch code := end.ExitCode; {
	case code == 0:
		return nil
	case code == exitKilledByLegacy:
		return New(Killed, detail)
	case code > exitSignalBase && code < exitSignalBase+65:
		return ofSignal(code-exitSignalBase, detail)
	case end.Signal > 0:
		return ofSignal(end.Signal, detail)
	default:
		return New(ContainerFailed, detail)
	}
}

func ofSignal(signal int32, detail string) *Failure {
	switch signal {
	case 9:
		return New(Killed, detail)
	case 15:
		return New(Terminated, detail)
	case 11:
		return New(SegmentationFault, detail)
	}
	if name := signalName(signal); name != "" {
		return New(Signalled, name+", "+detail)
	}
	// Programs also use such numbers as plain exit codes.
	return New(ContainerFailed, detail)
}

// signalName has the signals that end programs, by their numbers on Linux.
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
	if message := strings.TrimSpace(end.Message); message != "" {
		detail += ":\n" + message
	}
	return detail
}
