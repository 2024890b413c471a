package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/store"
)

// planQueue says which queue the action waits in: its own, else that of its run.
func (s *Service) planQueue(_ context.Context, a *store.Action, _ *plannedTask, run *runContext) error {
	if a.Queue == "" {
		a.Queue = run.Queue
	}
	return nil
}
