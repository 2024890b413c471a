package launch

import (
	"context"
	"slices"

	"github.com/flyte-binary/flyte-binary/internal/tasktype"
	"github.com/flyte-binary/flyte-binary/runs/builtin"
	"github.com/flyte-binary/flyte-binary/runs/declared"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// planRunner decides what runs the action: this service, a pool of workers, or an executor.
func (p *Planner) planRunner(_ context.Context, a *store.Action, planned *plannedTask, _ *runContext) error {
	switch taskType := planned.spec.GetTaskTemplate().GetType(); {
	case builtin.Runs(taskType):
		a.Runner = store.RunnerBuiltin
	case taskType == tasktype.Actor && p.Pools:
		a.Runner = store.RunnerPool
		planned.notes = slices.DeleteFunc(planned.notes, declared.IsReuse)
	}
	return nil
}
