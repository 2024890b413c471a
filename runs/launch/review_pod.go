package launch

import (
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/kube/kuberule"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/asks"
)

// Pods judges the pods that tasks ask for.
type Pods = asks.Policies

// reviewPod refuses a run whose root action would fail for what it asks of its pod in each cluster that may run it, or for the size of the
// objects that it becomes. The executor checks again, and alone checks what children ask for.
func (c *Creator) reviewPod(p *preparedRun) error {
	request, planned, run := p.request, p.planned, p.spec
	field, words := kuberule.Sizes(planned.spec.GetTaskTemplate(), len(planned.body), run)
	if words == "" && c.Pods != nil && planned.connector == "" {
		field, words = asks.Review(c.Pods, c.Planner.candidates(&p.root.Action, planned, run), planned.spec.GetTaskTemplate(), run)
	}
	if words == "" {
		return nil
	}
	if !strings.HasPrefix(field, "run_spec.") {
		if request.GetTaskId() != nil {
			field = "task_id"
		} else {
			field = "task_spec." + field
		}
	}
	return rpc.InvalidArgument(field, "%s", words)
}

// reviewSize refuses a child whose objects would be larger than Kubernetes takes. The run spec alone was fine, or there would
// be no run.
func reviewSize(field string, planned *plannedTask, run *runContext) error {
	path, words := kuberule.Sizes(planned.spec.GetTaskTemplate(), len(planned.body), run.Spec)
	switch {
	case words == "":
		return nil
	case strings.HasPrefix(path, "run_spec."):
		path = "task_template"
	}
	return rpc.InvalidArgument(field+"."+path, "%s", words)
}
