package launch

import (
	"context"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	maxPriority = 100
	// maxQueueName is the length of the name of a queue in bytes; it is a key of indexes.
	maxQueueName = 255
)

// planQueue sets the queue in which the action waits (its own, else that of its run) and its priority. It does not
// validate the queue of the run again: the configuration may have changed since.
func (p *Planner) planQueue(_ context.Context, a *schema.Action, _ *plannedTask, run *runContext) error {
	isRoot := run.RootID == 0
	field := "task.queue"
	if isRoot {
		field = "run_spec.queue"
	}
	if a.Queue != "" && (isRoot || a.Queue != run.Queue) {
		if err := p.checkQueue(field, a.Queue, run); err != nil {
			return err
		}
	}
	if a.Queue == "" {
		a.Queue = run.Queue
	}
	priority, err := runPriority(run.Spec)
	if err != nil && isRoot {
		return err
	}
	a.Priority = priority
	return nil
}

// checkQueue returns InvalidArgument when the queue does not exist or the run's project may not use it.
func (p *Planner) checkQueue(field, name string, run *runContext) error {
	if len(name) > maxQueueName {
		return rpc.InvalidArgument(field, "must have at most %d characters", maxQueueName)
	}
	if !p.Queues.Known(name) {
		return rpc.InvalidArgument(field, "queue %s does not exist; queues: %s", name, strings.Join(p.Queues.Names(), ", "))
	}
	if !p.Queues.Of(name).Serves(run.ID.Project, run.ID.Domain) {
		return rpc.InvalidArgument(field, "queue %s does not accept runs of project %s in domain %s", name, run.ID.Project, run.ID.Domain)
	}
	return nil
}

// runPriority is the priority in the run's label; 0 without one.
func runPriority(spec *task.RunSpec) (int32, error) {
	value, ok := spec.GetLabels().GetValues()[ident.LabelPriority]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < -maxPriority || n > maxPriority {
		return 0, rpc.InvalidArgument("run_spec.labels", "%s must be an integer from %d to %d, got %q", ident.LabelPriority, -maxPriority, maxPriority, value)
	}
	return int32(n), nil
}
