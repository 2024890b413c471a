package runs

import (
	"context"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

const (
	// priorityLabel on a run puts it before others, or behind them, in its queue: an integer from -100 to 100.
	priorityLabel = "flyte.org/priority"
	maxPriority   = 100
	// maxQueueName is the length of the name of a queue in bytes; it is a key of indexes.
	maxQueueName = 255
)

// planQueue says which queue the action waits in, its own, else that of its run, and with which priority. What a run
// was created with is not questioned again: the configuration may have changed since.
func (s *Service) planQueue(_ context.Context, a *store.Action, _ *plannedTask, run *runContext) error {
	isRoot := run.RootID == 0
	field := "task.queue"
	if isRoot {
		field = "run_spec.queue"
	}
	if a.Queue != "" && (isRoot || a.Queue != run.Queue) {
		if err := s.checkQueue(field, a.Queue, run); err != nil {
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

// checkQueue answers InvalidArgument when there is no such queue or the run's project may not use it.
func (s *Service) checkQueue(field, name string, run *runContext) error {
	if len(name) > maxQueueName {
		return rpc.InvalidArgument(field, "has at most %d characters", maxQueueName)
	}
	if !s.queues.Known(name) {
		return rpc.InvalidArgument(field, "there is no queue %s; the queues are %s", name, strings.Join(s.queues.Names(), ", "))
	}
	if !s.queues.Of(name).Serves(run.ID.Project, run.ID.Domain) {
		return rpc.InvalidArgument(field, "queue %s is not for project %s in domain %s", name, run.ID.Project, run.ID.Domain)
	}
	return nil
}

// runPriority is the priority that a run's label asks for; 0 without one.
func runPriority(spec *task.RunSpec) (int32, error) {
	value, ok := spec.GetLabels().GetValues()[priorityLabel]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < -maxPriority || n > maxPriority {
		return 0, rpc.InvalidArgument("run_spec.labels", "%s is an integer from %d to %d, got %q", priorityLabel, -maxPriority, maxPriority, value)
	}
	return int32(n), nil
}
