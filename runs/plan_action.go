package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// planAction settles, when a task action is recorded, what the engine decides about it once: whether its result comes
// from the run that is recovered, and if not, who runs it, until when it may take, which queue it waits in, whether its
// outputs may come from the cache. Each step is in a file of its own.
func (s *Service) planAction(ctx context.Context, a *store.Action, planned *plannedTask, run *runContext) error {
	steps := []func(context.Context, *store.Action, *plannedTask, *runContext) error{
		s.planRecovery,
		s.planRunner,
		s.planTimeouts,
		s.planQueue,
		s.planCache,
	}
	for _, step := range steps {
		if err := step(ctx, a, planned, run); err != nil {
			return err
		}
		if a.Phase == state.Recovered {
			return nil // it waits for nothing and runs nowhere
		}
	}
	return nil
}
