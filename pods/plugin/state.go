package plugin

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// State is what a plugin knows about an attempt.
type State struct {
	// Phase is QUEUED, WAITING_FOR_RESOURCES, INITIALIZING or RUNNING while the attempt lives; SUCCEEDED when its process
	// ended without an error, whatever it wrote: the reconciler reads error document and outputs; FAILED with a Failure.
	Phase common.ActionPhase
	// Failure is why the phase is FAILED.
	Failure *failure.Failure
	// Stopped is what stopped the process, such as the deletion of its pod, although it exited with 0; nil if it ended by itself.
	Stopped *failure.Failure
	// Settled means that Failure is final: an error document in the attempt's directory is not from the process that
	// ended.
	Settled bool
	// ErrorDir is the directory with the error document of the process that failed; empty means that of the attempt.
	ErrorDir string
	// NoDocument means that the process that failed writes no error document: one in the directory of the attempt is from another.
	NoDocument bool
	// OthersFailed means that other processes of the attempt failed than the one that writes its outputs, which then do not count.
	OthersFailed bool
	// Message says in one line what the attempt waits for; may be empty.
	Message string
	// Reason is the cluster's keyword for Message.
	Reason string
	// Expected means that Message is about a normal part of a start, such as the admission by a queue.
	Expected bool
	// Notice is what the node says of the running attempt although nothing has failed; may be empty.
	Notice Notice
	// Object is the uid of the attempt's main object; empty until it exists.
	Object types.UID
	// Word is what the plugin must not forget of this attempt, such as the id of a job elsewhere: at most v1.MaxPluginWord
	// bytes; nil keeps the last one. A state with a new word does not count until the word is in the status of the
	// TaskAction. Then Advance is called again with it: a plugin writes what it is going to do before it does it.
	Word []byte
	// Since is when the phase of an attempt without a process began, in whole seconds as the cluster reports it; zero if that is not known.
	Since time.Time
	// StartedAt is when the process started, in whole seconds as the cluster reports it; zero if it did not start.
	StartedAt time.Time
	// EndedAt is when the process ended; zero if unknown.
	EndedAt time.Time
	// LogContext says which pods and containers have logs; may be nil.
	LogContext *core.LogContext
	// LogLinks are links to logs elsewhere.
	LogLinks []*core.TaskLog
	// Stopping means that something stops the attempt, such as the deletion of its pod: its logs can be read only a
	// little longer.
	Stopping bool
	// StillRuns means that the phase is terminal although the process runs: it has to be stopped.
	StillRuns bool
	// Paused means that the cluster keeps the attempt from running. One that ran before stays in the phase that it reached, with Message.
	Paused bool
	// Stuck means that the attempt waits for something that is not part of a normal start, such as a missing secret.
	Stuck bool
	// Recheck asks for another call after this time even if nothing changes; 0 asks for none.
	Recheck time.Duration
}

// Notice is a remark for the owner of the task.
type Notice struct {
	// Reason is the node's keyword for Message.
	Reason string
	// Message is empty if there is nothing to say.
	Message string
	// Expected means that it is normal.
	Expected bool
	// At is when the node said it.
	At time.Time
}

// Lost returns the state of a lost attempt.
func Lost(why *failure.Failure) State {
	return State{Phase: common.ActionPhase_ACTION_PHASE_FAILED, Failure: why}
}

// Fail turns the state into that of a lost attempt and keeps the rest, such as its times.
func (s *State) Fail(why *failure.Failure) {
	s.Phase, s.Failure = common.ActionPhase_ACTION_PHASE_FAILED, why
}
