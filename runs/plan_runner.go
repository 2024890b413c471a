package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/store"
)

// planRunner says whether the engine runs the action itself.
func (s *Service) planRunner(_ context.Context, _ *store.Action, _ *plannedTask, _ *runContext) error {
	return nil
}
