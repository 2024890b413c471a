package manager

import (
	"context"

	"github.com/flyte-binary/flyte-binary/actions"
	"github.com/flyte-binary/flyte-binary/apps"
	"github.com/flyte-binary/flyte-binary/artifacts"
	artifactstore "github.com/flyte-binary/flyte-binary/artifacts/store"
	cacheservice "github.com/flyte-binary/flyte-binary/cache_service"
	"github.com/flyte-binary/flyte-binary/connectors"
	"github.com/flyte-binary/flyte-binary/dataproxy"
	"github.com/flyte-binary/flyte-binary/events"
	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/manager/clusterview"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/system"
	"github.com/flyte-binary/flyte-binary/notifications"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/admission"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/triggers"
)

func buildCache(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := cacheservice.New(p.config.Cache, cacheservice.Deps{Pool: p.pool, Blobs: p.blobs, Clock: p.clock, Logger: p.log})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	return service, nil
}

func buildArtifacts(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := artifacts.New(p.config.Artifacts, artifacts.Deps{
		Pool: p.pool, Blobs: p.blobs, Projects: p.peers.projects(), Engine: p.peers.engine(), Runs: p.peers.runs(),
		Uses: p.peers.artifactUses(), AppUses: p.peers.appUses(), Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	return service, nil
}

func buildRuns(ctx context.Context, p *process) (lifecycle.Part, error) {
	reviewer, err := notifications.NewReviewer(p.config.Notifications)
	if err != nil {
		return nil, err
	}
	tracked, err := pgdb.OpenNamespace(ctx, p.pool, store.TrackedNamespace, p.config.Runs.Tracked.MaxConns)
	if err != nil {
		return nil, err
	}
	p.onClose(func(context.Context) error { tracked.Close(); return nil })
	namespace, err := pgdb.Namespace(ctx, p.pool)
	if err != nil {
		return nil, err
	}
	reviewers := podspec.NewReviewers(p.config.Executor.Pod)
	service, err := runs.New(p.config.Runs, runs.Deps{
		Pool: p.pool, Tenants: closed(p.config, p.options), Tracked: tracked, Replicas: p.replicas, Several: p.config.Replicas.Several, Listener: p.notices, Blobs: p.blobs,
		Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter, Tracer: p.telemetry.Tracer, Pace: p.clusterPace(), Images: p.options.Images,
		Clusters: clusterview.Placeable{States: p.clusters.States(), Clock: p.clock}, ClustersChanged: p.clusters.States().Changed(),
		Peers: runs.Peers{
			Cache: p.peers.cache(), GlobalCache: p.peers.globalCache(), Artifacts: p.peers.artifactRegistry(), Failures: p.peers.failures(), Workers: p.peers.workerPools(), Connectors: p.peers.connectors(),
			Triggers: p.peers.triggers(), TaskTriggers: p.peers.taskTriggers(), People: p.peers.people(),
		},
		Launch: runs.Launch{
			Pods: reviewers, Notifications: reviewer, TaskTypes: p.config.Executor.Plugins.Served(),
			WorkerPools: workersRun(p.config), Asks: clusterview.Asked(p.config.Executor.Pod, reviewers),
		},
		Lost:      runs.Lost{Clusters: p.clusters.States(), MaxSystemFailures: p.config.Executor.Reconciler.MaxSystemFailures},
		Outbox:    runs.Outbox{NotifyPhases: reviewer.Everywhere(), EventSinks: p.config.EventStream.Names()},
		Retention: runs.Retention{Namespace: namespace, InUse: inUse(namespace), RunDeleted: p.options.runDeleted},
		Records:   p.access.Records(),
	})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	p.degrades("writes", writes(p.config.Health, service.OldestWrite))
	starts := &atMost{every: startsEvery, clock: p.clock, run: starts(p.config.Health, service.OldestStart)}
	p.degrades("starts", starts.check)
	p.runs = service
	return service, nil
}

// clusterPace is how the cluster keeps up, where this process calls it.
func (p *process) clusterPace() admission.Pace {
	if !p.config.Target.Controller() {
		return nil
	}
	return p.pace
}

func buildTriggers(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := triggers.New(p.config.Triggers, triggers.Deps{
		Pool: p.pool, Starter: p.peers.triggerRuns(), Runs: p.peers.runs(), Tasks: p.peers.tasks(), Artifacts: p.peers.artifacts(),
		ArtifactEvents: p.peers.artifactEvents(), ArtifactChannel: artifactstore.Channel, Listener: p.notices, Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	return service, nil
}

func buildApps(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := apps.New(p.config.Apps, apps.Deps{
		Pool: p.pool, Listener: p.notices, Projects: p.peers.projects(), Blobs: p.blobs,
		PodLogs:   podLogs(p.peers, p.config, func(c podLogReader) apps.PodLogs { return c }),
		Addresses: apps.Addresses{PublicURL: p.config.Access.PublicURL, Domain: p.config.Gateway.Domain},
		Clusters: clusterview.Apps{
			States: p.clusters.States(), Policy: placement.New(p.config.Runs.Placement), Rules: clusterview.Asked(p.config.Executor.Pod, podspec.NewReviewers(p.config.Executor.Pod)),
			LostAfter: p.config.Runs.Clusters.LostAfter, Root: p.blobs.Root(), Clock: p.clock,
		},
		Settle: p.config.Runs.Clusters.Settle,
		Clock:  p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	return service, nil
}

// buildConnectors makes what runs tasks in other systems.
func buildConnectors(_ context.Context, p *process) (lifecycle.Part, error) {
	deps := connectors.Deps{
		Pool: p.pool, Listener: p.notices, Engine: p.peers.engine(), Sink: p.events.Sink(), Store: p.blobs, Secrets: p.peers.secretValues(),
		Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter, LegacyEnv: p.config.Executor.Pod.LegacyEnv,
		Organization: p.config.Executor.Pod.Organization, Tokens: p.peers.taskTokens(), PublicURL: p.config.Access.PublicURL,
	}
	if p.gateway != nil {
		deps.Apps = p.gateway.Inner()
	}
	service, err := connectors.New(p.config.Connectors, deps)
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	return service, nil
}

func buildDataProxy(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := dataproxy.New(p.config.DataProxy, dataproxy.Deps{
		Store: p.blobs, Runs: p.peers.runs(), Tasks: p.peers.tasks(), Projects: p.peers.projects(), Engine: p.peers.engine(), Jobs: p.peers.connectors(),
		PodLogs: podLogs(p.peers, p.config, func(c podLogReader) dataproxy.PodLogs { return c }), Settings: p.peers.settings(), Triggers: p.peers.triggers(), Clusters: clusterview.Named{States: p.clusters.States()}, Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	return lifecycle.Idle{}, nil
}

func buildEvents(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := events.New(p.config.Events, events.Deps{Engine: p.peers.engine(), Clock: p.clock, Logger: p.log})
	if err != nil {
		return nil, err
	}
	p.onClose(service.Stop) // after everything that reports has stopped
	if p.config.Target.API() {
		service.Mount(p.mux)
	}
	p.events = service
	return service, nil
}

func buildExecutor(_ context.Context, p *process) (lifecycle.Part, error) {
	deps := executor.Deps{
		Kube: p.owned, Sink: p.events.Sink(), Assignments: p.peers.engine(), Store: p.blobs, Secrets: p.peers.secretValues(), Tokens: p.peers.taskTokens(), Clock: p.clock, Logger: p.log,
		Installation: p.owner(), Cluster: p.config.Cluster.ID, Meter: p.telemetry.Meter, Tracer: p.telemetry.Tracer,
		Usage: p.peers.engine(), Nodes: p.options.Nodes,
	}
	if p.leader != nil {
		deps.Leader = p.leader
	}
	service, err := executor.New(p.config.Executor.Service(), deps)
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	p.degrades("executor", reconciles(service.Longest, p.config.Executor.Reconciler.SlowAfter, 1))
	if !p.config.Executor.InstallCRD {
		p.degrades("task actions", func(ctx context.Context) error { return system.ServesTaskActions(ctx, p.cluster) })
	}
	p.executor = service
	return service, nil
}

func buildActions(_ context.Context, p *process) (lifecycle.Part, error) {
	deps := actions.Deps{
		Recorder: p.peers.internalRuns(), Engine: p.peers.engine(), States: p.peers.actionStates(), Runs: p.peers.runs(),
		Events: p.events.Sink(), Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	}
	if p.config.Target.Controller() {
		deps.Kubernetes, deps.Executor = p.owned, p.executor
		deps.Installation, deps.Cluster, deps.OwnNamespace = p.owner(), p.config.Cluster.ID, configuration.OwnNamespace()
		deps.Doubtful = p.link.Doubtful
	}
	if p.leader != nil {
		deps.Leader = p.leader
	}
	service, err := actions.New(p.config.Actions, deps)
	if err != nil {
		return nil, err
	}
	if p.config.Target.API() {
		service.Mount(p.mux)
	}
	return service, nil
}
