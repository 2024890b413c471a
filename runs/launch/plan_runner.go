package launch

import (
	"context"
	"slices"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/runs/builtin"
	"github.com/flyte-binary/flyte-binary/runs/declared"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// planRunner decides what runs the action: this service, a connector, a pool of workers, or an executor.
func (p *Planner) planRunner(_ context.Context, a *schema.Action, planned *plannedTask, _ *runContext) error {
	switch template := planned.spec.GetTaskTemplate(); {
	case builtin.Runs(template.GetType()):
		a.Runner = schema.RunnerBuiltin
	case planned.connector != "":
		a.Runner = schema.RunnerConnector
	case p.Pools && reusable(template):
		a.Runner = schema.RunnerPool
		planned.notes = slices.DeleteFunc(planned.notes, declared.IsReuse)
	}
	return nil
}

// reusable reports whether workers run the task: it has their type, or is a function that asks for their kind.
func reusable(template *core.TaskTemplate) bool {
	return template.GetType() == tasktype.Actor ||
		template.GetType() == tasktype.Python && template.GetWorkerKind() == core.WorkerKind_WORKER_KIND_REUSABLE
}
