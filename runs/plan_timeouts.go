package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/store"
)

// planTimeouts says how long the action may wait and how long it may take. How long an attempt may run is the
// business of whoever runs it.
func (s *Service) planTimeouts(_ context.Context, a *store.Action, planned *plannedTask, _ *runContext) error {
	timeouts := planned.spec.GetTaskTemplate().GetMetadata().GetTimeouts()
	a.Limits = store.Limits{
		Queued:   timeouts.GetQueuedTimeout().AsDuration(),
		Deadline: timeouts.GetDeadline().AsDuration(),
	}
	return nil
}
