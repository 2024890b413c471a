package launch

import (
	"context"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// noPools is the note on a run that names a pool where no cluster is in one.
const noPools = "cluster_pool: no cluster of this server is in a pool"

// Clusters are those that may run actions; placement.Book has them.
type Clusters interface {
	// Sole reports whether there is nothing to choose.
	Sole() (cluster string, sole bool)
	Clusters() []placement.Cluster
	Policy() *placement.Policy
}

// planPlace notes what an action asks of a cluster, and refuses one that no known cluster could ever run. Which cluster runs it is
// decided when it is admitted.
func (p *Planner) planPlace(_ context.Context, a *schema.Action, planned *plannedTask, run *runContext) error {
	if p.Clusters == nil || !a.Runner.OnCluster() {
		return nil
	}
	pool, isRoot := run.Spec.GetClusterPool(), run.RootID == 0
	_, sole := p.Clusters.Sole()
	if sole && pool == "" {
		return nil
	}
	asked := p.asked(a, planned, run.Spec)
	asks.Data(&asked, asks.RunData(run.Spec), a.InputURI, run.OutputBase)
	clusters := p.Clusters.Clusters()
	known := sole || len(clusters) > 0 // else they could not be read yet
	if isRoot && pool != "" && known && len(placement.Pools(clusters)) == 0 {
		planned.notes = append(planned.notes, protomap.Note{Reason: "NotHonoured", Message: noPools})
	}
	words, ofPool := p.Clusters.Policy().Refusal(&asked, clusters)
	switch {
	case words != "" && ofPool && isRoot: // of a child, the pools may have changed since the run began
		return rpc.InvalidArgument("run_spec.cluster_pool", "%s", words)
	case words != "" && !ofPool && isRoot:
		return rpc.InvalidArgument("task_spec.task_template.type", "%s", words)
	case words != "" && !ofPool:
		return rpc.InvalidArgument("task.spec.task_template.type", "%s", words)
	}
	asks.Shared(&asked, a.Runner, a.EnvironmentName)
	a.Asks = &asked
	return nil
}

// asked is what an action asks of a cluster.
func (p *Planner) asked(a *schema.Action, planned *plannedTask, run *task.RunSpec) placement.Request {
	asked := p.Asks.Of(planned.spec.GetTaskTemplate(), run)
	asked.Project, asked.Domain = a.Project, a.Domain
	queue := p.Queues.Of(a.Queue)
	asked.Queue, asked.Pin = queue.Name, queue.Cluster
	return asked
}

// candidates are the clusters that may run an action, whatever the policies of their pods; none if no cluster is known.
func (p *Planner) candidates(a *schema.Action, planned *plannedTask, run *task.RunSpec) []placement.Cluster {
	if p.Clusters == nil {
		return nil
	}
	clusters := p.Clusters.Clusters()
	if !slices.ContainsFunc(clusters, func(c placement.Cluster) bool { return c.PodPolicy != clusters[0].PodPolicy }) {
		return clusters // any of them may speak for all
	}
	asked := p.asked(a, planned, run)
	return p.Clusters.Policy().Candidates(&asked, clusters)
}

// knownPool refuses the pool of a run that does not exist, before anything is stored.
func (p *Planner) knownPool(run *runContext) error {
	pool := run.Spec.GetClusterPool()
	if p.Clusters == nil || pool == "" {
		return nil
	}
	if pools := placement.Pools(p.Clusters.Clusters()); len(pools) > 0 && !slices.Contains(pools, pool) {
		return rpc.InvalidArgument("run_spec.cluster_pool", "there is no pool %s of clusters; pools: %s", pool, strings.Join(pools, ", "))
	}
	return nil
}
