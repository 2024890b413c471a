package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/builtin"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// planRunner says whether the engine runs the action itself.
func (s *Service) planRunner(_ context.Context, a *store.Action, planned *plannedTask, _ *runContext) error {
	if builtin.Runs(planned.spec.GetTaskTemplate().GetType()) {
		a.Runner = store.RunnerEngine
	}
	return nil
}
