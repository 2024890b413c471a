package launch

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/builtin"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// planRunner decides whether the runs service runs the action itself.
func (p *Planner) planRunner(_ context.Context, a *store.Action, planned *plannedTask, _ *runContext) error {
	if builtin.Runs(planned.spec.GetTaskTemplate().GetType()) {
		a.Runner = store.RunnerBuiltin
	}
	return nil
}
