package manager

import (
	"context"

	"github.com/flyte-binary/flyte-binary/apps/deployer"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/leader"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
)

// buildDeployer makes what runs apps. Their pods look and live as those of tasks do, so it takes the same settings.
func buildDeployer(_ context.Context, p *process) (lifecycle.Part, error) {
	tasks := p.config.Actions.TaskActions
	namespace, err := namespaces.Parse(tasks.Namespace)
	if err != nil {
		return nil, err
	}
	deps := deployer.Deps{
		Kube: p.owned, Fleet: p.peers.appFleet(), Store: p.blobs, Secrets: p.peers.secretValues(), Tokens: p.peers.taskTokens(),
		Pod: p.config.Executor.Pod, Logs: p.config.Executor.Logs, Namespace: namespace, Namespaces: tasks.Namespaces(configuration.OwnNamespace()),
		Only: p.config.Executor.Namespaces, Installation: p.owner(), Cluster: p.config.Cluster.ID, Clock: p.clock, Logger: p.log,
		Meter: p.telemetry.Meter,
	}
	if p.leader != nil {
		deps.Leader = leader.Undivided{Election: p.leader}
	}
	return deployer.New(p.config.Deployer, deps)
}
