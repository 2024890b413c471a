package launch

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Queues looks up the configured queues; queues.Set does.
type Queues interface {
	Known(name string) bool
	Names() []string
	Of(name string) *queues.Queue
}

// Cache says how tasks use the cache of outputs; cachelink.Cache does.
type Cache interface {
	On() bool
	WishOf(spec *task.TaskSpec, run *task.RunSpec) cachelink.Wish
}

// Planner decides, once per action, what happens to it after it is recorded. All fields but Pools and Clusters are required.
type Planner struct {
	Queues     Queues
	Cache      Cache
	Recoveries *Recoveries
	Clock      clock.Clock
	// Pools says that workers run the tasks of reusable environments.
	Pools bool
	// Clusters are those that may run actions, and Asks reads what tasks ask of them; nil means that there is nothing to choose.
	Clusters Clusters
	Asks     *asks.Rules

	judgements *judgements
}

// plan makes the decisions that a task action gets once, when it is recorded: whether its result comes from the run
// being recovered, and if not, what runs it, its time limits, its queue, and whether its outputs may come from the
// cache. What people should know of that becomes its notes.
func (p *Planner) plan(ctx context.Context, a *schema.Action, planned *plannedTask, run *runContext) (err error) {
	if err := p.decide(ctx, a, planned, run); err != nil {
		return err
	}
	a.Notes, err = protomap.Notes(planned.notes, p.Clock.Now())
	return err
}

// decide takes the steps of plan. Each is in a file of its own.
func (p *Planner) decide(ctx context.Context, a *schema.Action, planned *plannedTask, run *runContext) error {
	steps := []func(context.Context, *schema.Action, *plannedTask, *runContext) error{
		p.planRecovery,
		p.planRunner,
		p.planTimeouts,
		p.planQueue,
		p.planPlace,
		p.planCache,
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

// check returns the error with which plan would refuse a root action, as far as that can be known before its inputs are
// stored. It changes nothing.
func (p *Planner) check(a schema.Action, run *runContext) error {
	if err := p.knownPool(run); err != nil {
		return err
	}
	return p.planQueue(context.Background(), &a, nil, run)
}
