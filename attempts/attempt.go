// Package attempts has what is true of an attempt of an action, whatever runs it: the environment and the arguments of its
// process, and the reports of its start, its end and its loss. Runners decide where an attempt runs, and say how it ended.
package attempts

import (
	"fmt"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Attempt is one attempt to run an action.
type Attempt struct {
	Action ident.Action
	// Number of the attempt, from 1.
	Number int32
	// Task names the task.
	Task *core.Identifier
	// RunOutputBase is the run's base in the object store.
	RunOutputBase string
	// RawDataPrefix is the run's own place for files and data frames; empty for the attempt's directory.
	RawDataPrefix string
	// InputURI is where the inputs are, as the client gave it; empty for none.
	InputURI string
	// RunStartTime is when the run started, as its tasks see it; zero if that is not known.
	RunStartTime time.Time
	// Env are the variables of the run, in order. The last of a name counts.
	Env []Variable
	// Trace is the trace that the process continues, instead of that in Env; may be empty.
	Trace string
	// Object names the attempt where it runs, such as its pod; Namespace is that of its pod, if it has one.
	Object, Namespace string
}

// Of returns an attempt of an assigned action. Runners that have no object for it name it by the action's uid.
func Of(assigned *enginev1.Assignment, number int32) *Attempt {
	attempt := &Attempt{
		Action: ident.ActionOf(assigned.GetRef().GetId()), Number: number, Task: assigned.GetTask().GetSpec().GetTaskTemplate().GetId(),
		RunOutputBase: assigned.GetRunOutputBase(), RawDataPrefix: assigned.GetRunSpec().GetRawDataStorage().GetRawDataPrefix(),
		InputURI: assigned.GetInputUri(), Object: fmt.Sprintf("a%d-%d", assigned.GetRef().GetUid(), number),
	}
	if start := assigned.GetRunStartTime(); start != nil {
		attempt.RunStartTime = start.AsTime()
	}
	for _, pair := range assigned.GetRunSpec().GetEnvs().GetValues() {
		attempt.Env = append(attempt.Env, Variable{pair.GetKey(), pair.GetValue()})
	}
	return attempt
}

// Dir is the directory of the attempt in the object store, without a trailing slash.
func (a *Attempt) Dir() string {
	return blobpath.AttemptDir(a.RunOutputBase, a.Action.Name, uint32(a.Number)) //nolint:gosec // from 1
}

// RawData is where the attempt writes files and data frames: in its directory, or in one of its own below the run's prefix.
func (a *Attempt) RawData() string {
	if a.RawDataPrefix == "" {
		return a.Dir()
	}
	run := a.Action.Run
	return blobpath.AttemptDir(blobpath.RunBase(a.RawDataPrefix, run.Project, run.Domain, run.Name), a.Action.Name, uint32(a.Number)) //nolint:gosec // from 1
}
