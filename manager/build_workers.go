package manager

import (
	"context"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/manager/clusterview"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/leader"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
	"github.com/flyte-binary/flyte-binary/pools"
	"github.com/flyte-binary/flyte-binary/pools/workerpods"
)

// workersRun reports whether new actions of reusable environments go to workers. A cluster that this process runs must have the
// program of workers; what clusters of other processes have is not known here.
func workersRun(c configuration.Config) bool {
	return c.Workers.Enabled && (!c.Target.Controller() || c.Executor.HasWorkerProgram())
}

// buildWorkers makes what gives work to workers. It runs also where no new actions get workers, for those that have them.
func buildWorkers(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := pools.New(p.config.Workers, pools.Deps{
		Pool: p.pool, Listener: p.notices, Engine: p.peers.engine(), Sink: p.events.Sink(), Store: p.blobs, Tokens: p.peers.taskTokens(), Clock: p.clock, Logger: p.log,
		Clusters: clusterview.Closed{States: p.clusters.States(), Clock: p.clock}, Meter: p.telemetry.Meter, LegacyEnv: p.config.Executor.Pod.LegacyEnv,
	})
	if err != nil {
		return nil, err
	}
	if p.config.Workers.Enabled && !workersRun(p.config) {
		p.log.Info().Msg("executor.pod.copilot.image is not set; reusable environments run one pod per attempt")
	}
	p.mux.Trust(service.Workers())
	service.Mount(p.mux)
	return service, nil
}

// buildWorkerPods makes what starts workers on the cluster. Their pods look as those of tasks do.
func buildWorkerPods(_ context.Context, p *process) (lifecycle.Part, error) {
	tasks := p.config.Actions.TaskActions
	namespace, err := namespaces.Parse(tasks.Namespace)
	if err != nil {
		return nil, err
	}
	deps := workerpods.Deps{
		Kube: p.owned, Fleet: p.peers.workerFleet(), Describe: taskactions.FromAssignment, Pod: p.config.Executor.Pod, Store: p.blobs,
		Secrets: p.peers.secretValues(), Namespace: namespace, Namespaces: tasks.Namespaces(configuration.OwnNamespace()), Installation: p.owner(),
		Cluster: p.config.Cluster.ID, MaxSilence: p.config.Workers.MaxSilence, Clock: p.clock, Logger: p.log,
	}
	if p.leader != nil {
		deps.Leader = leader.Undivided{Election: p.leader}
	}
	return workerpods.New(p.config.Executor.Workers, deps)
}
