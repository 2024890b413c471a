// Package exitcode reads exit codes and signals: which failure the end of a process is, whatever runs it.
package exitcode

import (
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
)

const (
	sigkill = 9
	sigsegv = 11
	sigterm = 15

	signalBase     = 128 // shells and container runtimes report signal n as exit code 128+n
	killedByLegacy = 247 // the exit code of a killed child in the shells of some runtimes
)

// End is how a process ended.
type End struct {
	// Code is its exit code.
	Code int32
	// Signal is the number of the signal that ended it, if the runner knows; 0 if the process exited or only its code is known.
	Signal int32
	// Own means that the task sent the signal: the runner knows that neither it nor the kernel, for lack of memory, did.
	Own bool
	// Log is the end of the log of the process, if the runner has it.
	Log string
}

// Failure returns why the attempt was lost; nil if the process exited with 0. The detail describes the end to the owner of the task.
//
// A signal that the runner reports is a fact, so every number counts. An exit code above 128 only follows a convention, and
// programs use such numbers as plain exit codes, too: it counts as a signal if the signal is one that usually ends programs.
func (e End) Failure(detail string) *failure.Failure {
	signal := e.signal()
	switch {
	case signal == 0 && e.Code == 0:
		return nil
	case beforeTheTask(e.Log):
		return failure.New(failure.RuntimeNotStarted, "%s", detail)
	case signal == 0:
		return failure.New(failure.ContainerFailed, "%s", detail)
	case signal == sigsegv:
		return failure.New(failure.SegmentationFault, "%s", detail)
	case signal == sigkill && !e.Own:
		return failure.New(failure.Killed, "%s", detail)
	case signal == sigterm && !e.Own:
		return failure.New(failure.Terminated, "%s", detail)
	}
	name := names()[signal]
	if name == "" {
		name = fmt.Sprintf("signal %d", signal)
	}
	return failure.New(failure.Signalled, "%s, %s", name, detail)
}

// signal is the number of the signal that ended the process; 0 if it exited.
func (e End) signal() int32 {
	switch {
	case e.Signal > 0:
		return e.Signal
	case e.Code == killedByLegacy:
		return sigkill
	case names()[e.Code-signalBase] != "":
		return e.Code - signalBase
	}
	return 0
}

// names are the signals that usually end programs, by their numbers on Linux.
func names() map[int32]string {
	return map[int32]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", sigkill: "SIGKILL",
		10: "SIGUSR1", sigsegv: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", sigterm: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ",
		31: "SIGSYS",
	}
}

// beforeTheTask reports whether the SDK's program gave up before it loaded the task. It reports errors of the task, and
// errors while it loads the task, in an error document; those of its own start only as the last traceback of its log. What
// follows the traceback is the end of the interpreter.
func beforeTheTask(log string) bool {
	last := log[max(0, strings.LastIndex(log, "Traceback (most recent call last)")):]
	for line := range strings.Lines(last) {
		if strings.HasPrefix(line, "TimeoutError: Controller thread failed to start in time") ||
			strings.HasPrefix(line, "flyte.errors.RuntimeSystemError: Controller thread startup failed") {
			return true
		}
	}
	return false
}
