// Package plugin is what the reconciler asks of those who run tasks: bring an attempt forward, tell its state, clean up
// behind it. Retries, budgets, outputs and reporting are none of their business. A plugin serves some task types; the
// pod plugin serves all that nobody else does. Optional abilities are interfaces of their own.
package plugin

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Plugin runs the attempts of some task types. All methods return quickly and may be called again at any time, also by
// another process that has never seen the attempt.
type Plugin interface {
	// Name is for logs.
	Name() string
	// Advance brings the attempt into being if it never was, and tells its state. An error means that nothing is
	// known now; it is tried again and costs nobody an attempt.
	Advance(ctx context.Context, attempt *Attempt) (State, error)
	// Remove deletes what the attempt left, running or not. It is no error if there is nothing.
	Remove(ctx context.Context, attempt *Attempt) error
}

// Watcher is a plugin with objects of its own in the cluster, each with a TaskAction as its controlling owner. Their
// changes wake the reconciler.
type Watcher interface {
	Watches() []client.Object
}

// Logged is a plugin whose containers have logs in the cluster, to be kept when the action has ended.
type Logged interface {
	// Logs names the logs of the attempt that can be read now.
	Logs(ctx context.Context, attempt *Attempt) ([]Log, error)
}

// Log is the log of one container.
type Log struct {
	Namespace, Pod, Container string
	// Follow reads on until the container ends.
	Follow bool
}

// Attempt is one try to run an action. It is read only.
type Attempt struct {
	// Task is the intent, from the cache.
	Task *v1.TaskAction
	// Template is the decoded task template of Task.
	Template *core.TaskTemplate
	// Number of the attempt, from 1.
	Number int32
	// Dir is the attempt's directory in the object store, without a trailing slash.
	Dir string
	// PreviousDir is the directory of the attempt before; empty for the first.
	PreviousDir string
	// SystemFailures is how many attempts of the action were lost by no fault of its own.
	SystemFailures int32
	// Known is the uid of the attempt's main object, if it is known to have existed. Such an object is not made
	// again: if it is gone, the attempt is lost.
	Known types.UID
	// MayLaunch allows to bring the attempt into being. Without it a plugin that finds nothing answers with the
	// unspecified phase.
	MayLaunch bool
}

// State is what a plugin knows of an attempt.
type State struct {
	// Phase is INITIALIZING, WAITING_FOR_RESOURCES or RUNNING while the attempt lives; SUCCEEDED when the process
	// ended well, which says nothing of its outputs yet; FAILED with a Failure.
	Phase common.ActionPhase
	// Failure is why the phase is FAILED.
	Failure *failure.Failure
	// Settled says that Failure is the whole truth: an error document that lies in the attempt's directory is not of the
	// process that ended.
	Settled bool
	// Message says in a line what the attempt waits for; empty when there is nothing to say.
	Message string
	// Reason is the cluster's keyword for Message.
	Reason string
	// Object is the uid of the attempt's main object; empty when it does not exist yet.
	Object types.UID
	// StartedAt is when the process started; zero if it did not. The cluster cuts it to seconds.
	StartedAt time.Time
	// EndedAt is when the process ended, likewise.
	EndedAt time.Time
	// LogContext tells where the logs are; may be nil.
	LogContext *core.LogContext
	// LogLinks are addresses of logs for people.
	LogLinks []*core.TaskLog
	// Stopping says that somebody stops the attempt, as by deleting its pod: its logs can be read a little longer.
	Stopping bool
	// Recheck asks for another look after a while, though nothing changes; 0 asks for none.
	Recheck time.Duration
}
