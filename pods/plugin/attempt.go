package plugin

import (
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Attempt is one attempt to run an action. Plugins must not change it.
type Attempt struct {
	// Task is the TaskAction, from the cache.
	Task *v1.TaskAction
	// Template is the decoded task template of Task.
	Template *core.TaskTemplate
	// Number of the attempt, from 1.
	Number int32
	// Dir is the attempt's directory in the object store, without a trailing slash.
	Dir string
	// PreviousDir is the directory of the previous attempt; empty for the first.
	PreviousDir string
	// Trace is the trace that the process continues, the value of tracelink.Variable; empty if no one records one.
	Trace string
	// SystemFailures is how many attempts of the action were lost through no fault of the task.
	SystemFailures int32
	// Known is the uid of the attempt's main object, if it is known to have existed. Such an object is never created
	// again: if it is gone, the attempt is lost.
	Known types.UID
	// Word is the last State.Word of the attempt; nil if there was none.
	Word []byte
	// MayLaunch permits the plugin to create the attempt. Without it a plugin that finds nothing returns the unspecified
	// phase.
	MayLaunch bool
}
