package launch

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// planTimeouts sets how long the action may wait and how long it may take. The executor enforces how long an attempt
// may run.
func (p *Planner) planTimeouts(_ context.Context, a *schema.Action, planned *plannedTask, _ *runContext) error {
	timeouts := planned.spec.GetTaskTemplate().GetMetadata().GetTimeouts()
	a.Limits = schema.Limits{
		Queued:   timeouts.GetQueuedTimeout().AsDuration(),
		Deadline: timeouts.GetDeadline().AsDuration(),
	}
	return nil
}
