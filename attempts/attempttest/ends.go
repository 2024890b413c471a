// Package attempttest has the cases that every runner of attempts must judge alike: ends of processes, arguments and losses.
// A runner's own test goes through them, so that no runner gets a rule of its own.
package attempttest

import "github.com/flyte-binary/flyte-binary/attempts/failure"

// End is how a process ended, and what every runner must make of it.
type End struct {
	Name string
	// Code is the exit code; Signal is the signal, of a process whose runner knows it.
	Code, Signal int32
	// Want is the reason; empty for none.
	Want failure.Reason
	// Own is the reason if the runner knows that the task sent the signal; empty for Want.
	Own failure.Reason
}

// Reason is the reason that a runner must give. own means that it knows that the task sent the signal.
func (e End) Reason(own bool) failure.Reason {
	if own && e.Own != "" {
		return e.Own
	}
	return e.Want
}

// Ends are exit codes and signals.
func Ends() []End {
	return []End{
		{Name: "exit code 0"},
		{Name: "an exit code", Code: 3, Want: failure.ContainerFailed},
		{Name: "command not found", Code: 127, Want: failure.ContainerFailed},
		{Name: "the exit code of SIGSEGV", Code: 139, Want: failure.SegmentationFault},
		{Name: "the exit code of SIGABRT", Code: 134, Want: failure.Signalled},
		{Name: "the exit code of SIGKILL", Code: 137, Want: failure.Killed, Own: failure.Signalled},
		{Name: "its exit code in some shells", Code: 247, Want: failure.Killed, Own: failure.Signalled},
		{Name: "the exit code of SIGTERM", Code: 143, Want: failure.Terminated, Own: failure.Signalled},
		{Name: "the exit code of a rare signal", Code: 190, Want: failure.ContainerFailed},
		{Name: "an exit code above all signals", Code: 255, Want: failure.ContainerFailed},
		{Name: "SIGSEGV", Code: 139, Signal: 11, Want: failure.SegmentationFault},
		{Name: "SIGABRT", Code: 134, Signal: 6, Want: failure.Signalled},
		{Name: "SIGKILL", Code: 137, Signal: 9, Want: failure.Killed, Own: failure.Signalled},
		{Name: "SIGTERM", Code: 143, Signal: 15, Want: failure.Terminated, Own: failure.Signalled},
		{Name: "a rare signal", Code: 190, Signal: 62, Want: failure.Signalled},
	}
}
