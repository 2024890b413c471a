package manager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/clusters"
	"github.com/flyte-binary/flyte-binary/clusters/outgoing"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/manager/clusterwork"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

func buildAccess(_ context.Context, p *process) (lifecycle.Part, error) {
	closed := closed(p.config, p.options)
	p.open = p.open && !closed
	service, err := access.New(p.config.Access, access.Deps{
		Pool: p.pool, Listener: p.notices, Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter, Open: p.open,
		Attempts: p.peers.engine(), Backlog: p.peers.engine(), Uploads: p.peers.uploads(), Apps: p.peers.appFleet(), Tokens: closed, Located: p.peers.located(),
	})
	if err != nil {
		return nil, err
	}
	p.access = service
	service.Mount(p.mux)
	p.mux.Limit(service.Limiter())
	if people := service.Authenticator(); people != nil {
		p.mux.Trust(people)
	}
	if closed {
		p.mux.Decide(service.Authoriser())
		p.mux.Trust(service.Programs()) // asked first: its tokens have a form of their own
	}
	if p.options.Auditor == nil && (closed || p.open && p.config.Access.Audit.Anonymous) {
		p.mux.Record(service.Auditor())
	}
	p.mux.Trust(service.Tasks()) // where access was closed before, tasks may still present theirs
	return service, nil
}

// buildClusters makes the registry of clusters. Their controllers are known in an open installation, too: what a controller may call
// is closed to everybody else there.
func buildClusters(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := clusters.New(clusters.Deps{
		Pool: p.pool, Listener: p.notices, Version: p.options.Version, Installation: p.installation, Work: clusterwork.New(p.pool), LostAfter: p.config.Runs.Clusters.LostAfter,
		Stores: placement.New(p.config.Runs.Placement).Stores, PodPolicy: podspec.CheckReport, Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	p.mux.Trust(service.Authenticator())
	p.clusters = service
	return service, nil
}

// buildLink makes the link of a controller to the API, which may be in this process.
func buildLink(_ context.Context, p *process) (lifecycle.Part, error) {
	policy, err := json.Marshal(p.config.Executor.Pod.Policy)
	if err != nil {
		return nil, fmt.Errorf("digest of the policy of pods: %w", err)
	}
	digest := sha256.Sum256(policy)
	report, err := podspec.ReportPolicy(p.config.Executor.Pod)
	if err != nil {
		return nil, err
	}
	if len(report) > podspec.MostReported {
		p.log.Warn().Int("bytes", len(report)).Int("limit", podspec.MostReported).
			Msg("executor.pod.policy is too long to be reported; the API judges pods for this cluster by its own policy")
		report = ""
	}
	link, err := outgoing.New(outgoing.Deps{
		API: p.peers.clusterLink(), Logs: client(p.peers, "", enginev1connect.NewPodLogServiceClient), Cluster: p.config.Cluster.ID,
		Hello: func(ctx context.Context, hello *clustersv1.ConnectRequest) error {
			hello.Policy, hello.PodPolicy, hello.Labels = hex.EncodeToString(digest[:8]), report, p.config.Cluster.LabelMap()
			plugins, taskTypes, err := p.executor.Offer(ctx)
			hello.Plugins, hello.TaskTypes = plugins, taskTypes
			return err
		},
		Nodes: p.executor.Nodes, Version: p.options.Version, Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	})
	if err != nil {
		return nil, err
	}
	p.link = link
	return link, nil
}
