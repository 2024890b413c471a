package plugin

import (
	"context"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

// absent replaces a plugin whose types the cluster does not serve.
type absent struct {
	name, why string
	gone      bool
}

// Absent returns a plugin that replaces one whose types cannot be read. Its attempts wait, and their message is why. Gone
// means that the types do not exist, so that the objects of attempts that had begun do not exist either: these attempts
// are lost.
func Absent(name, why string, gone bool) Plugin { return absent{name: name, why: why, gone: gone} }

func (a absent) Name() string { return a.name }

func (a absent) Advance(_ context.Context, attempt *Attempt) (State, error) {
	if a.gone && attempt.Known != "" {
		return Lost(failure.New(failure.OperatorMissing, "%s", a.why)), nil
	}
	return State{Phase: common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, Reason: string(failure.OperatorMissing), Message: a.why}, nil
}

// Remove has nothing to do: objects of a type that was removed are gone, and others are deleted with their TaskAction.
func (a absent) Remove(context.Context, *Attempt) error { return nil }
