package manager

import (
	"context"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/clusters/credentials"
	"github.com/flyte-binary/flyte-binary/clusters/located"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1/clustersv1connect"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/cacheserviceconnect"
	cachev2connect "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2/v2connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings/settingsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger/triggerconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// peers makes the clients through which the services of an installation meet. Services of this process are called in
// memory, those of other processes over the network with the internal token. Callers cannot tell which.
type peers struct {
	local   connect.HTTPClient
	network *http.Client
	token   string
	// credential is that of this controller at the API, in place of the internal token; nil for none.
	credential *credentials.Presented
	// tokenless means that callers need no credential, so that tasks get none.
	tokenless bool
	// api is the URL of the process that serves the API; empty when it is this one.
	api string
}

// newPeers returns the clients of a process. Without a mux it has no services of its own.
func newPeers(config configuration.Config, certificates certfiles.Mutual, mux *rpc.Mux) peers {
	p := peers{network: networkClient(config.Server, certificates), token: config.Auth.InternalToken}
	if mux != nil {
		p.local = rpc.InProcess(mux)
	}
	if !config.Target.API() {
		p.api = config.ControlPlane.URL
		if config.ControlPlane.HasCredential() {
			p.credential = credentials.NewPresented(config.ControlPlane.Credential, config.ControlPlane.CredentialFile)
		}
	}
	return p
}

// networkClient speaks HTTP/2 with and without TLS, since streams and calls share connections, and pings peers that are
// silent, so that a stream to one that vanished ends.
func networkClient(config configuration.ServerConfig, certificates certfiles.Mutual) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{
		Protocols:       protocols,
		DialContext:     (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		DialTLSContext:  certificates.DialTLS("h2"),
		IdleConnTimeout: 5 * time.Minute,
		HTTP2:           &http.HTTP2Config{SendPingTimeout: config.PingAfter, PingTimeout: config.PingTimeout, WriteByteTimeout: config.WriteTimeout},
	}}
}

// client makes a client of a service at a URL; the empty URL is this process.
func client[C any](p peers, url string, make func(connect.HTTPClient, string, ...connect.ClientOption) C) C {
	if url == "" {
		return make(p.local, rpc.InProcessURL)
	}
	if url == p.api && p.credential != nil {
		return make(p.network, url, p.credential.ClientOption())
	}
	return make(p.network, url, rpc.WithInternalToken(p.token))
}

func (p peers) clusterLink() clustersv1connect.ClusterLinkServiceClient {
	return client(p, p.api, clustersv1connect.NewClusterLinkServiceClient)
}

func (p peers) engine() enginev1connect.EngineServiceClient {
	return client(p, p.api, enginev1connect.NewEngineServiceClient)
}

func (p peers) uploads() enginev1connect.UploadServiceClient {
	return client(p, p.api, enginev1connect.NewUploadServiceClient)
}

func (p peers) actionStates() enginev1connect.ActionStateServiceClient {
	return client(p, p.api, enginev1connect.NewActionStateServiceClient)
}

func (p peers) runs() workflowconnect.RunServiceClient {
	return client(p, p.api, workflowconnect.NewRunServiceClient)
}

func (p peers) internalRuns() workflowconnect.InternalRunServiceClient {
	return client(p, p.api, workflowconnect.NewInternalRunServiceClient)
}

func (p peers) tasks() taskconnect.TaskServiceClient {
	return client(p, p.api, taskconnect.NewTaskServiceClient)
}

func (p peers) projects() projectconnect.ProjectServiceClient {
	return client(p, p.api, projectconnect.NewProjectServiceClient)
}

func (p peers) settings() settingsconnect.SettingsServiceClient {
	return client(p, p.api, settingsconnect.NewSettingsServiceClient)
}

func (p peers) triggers() triggerconnect.TriggerServiceClient {
	return client(p, p.api, triggerconnect.NewTriggerServiceClient)
}

func (p peers) taskTriggers() enginev1connect.TaskTriggerServiceClient {
	return client(p, p.api, enginev1connect.NewTaskTriggerServiceClient)
}

func (p peers) triggerRuns() enginev1connect.TriggerRunServiceClient {
	return client(p, p.api, enginev1connect.NewTriggerRunServiceClient)
}

func (p peers) cache() cachev2connect.CacheServiceClient {
	return client(p, p.api, cachev2connect.NewCacheServiceClient)
}

func (p peers) globalCache() cacheserviceconnect.CacheServiceClient {
	return client(p, p.api, cacheserviceconnect.NewCacheServiceClient)
}

func (p peers) secretValues() enginev1connect.SecretValueServiceClient {
	return client(p, p.api, enginev1connect.NewSecretValueServiceClient)
}

func (p peers) taskTokens() enginev1connect.TaskTokenServiceClient {
	if p.tokenless {
		return nil
	}
	return client(p, p.api, enginev1connect.NewTaskTokenServiceClient)
}

func (p peers) artifactRegistry() enginev1connect.ArtifactRegistryServiceClient {
	return client(p, p.api, enginev1connect.NewArtifactRegistryServiceClient)
}

func (p peers) people() accessv1connect.AccessServiceClient {
	return client(p, p.api, accessv1connect.NewAccessServiceClient)
}

func (p peers) failures() insightv1connect.FailureServiceClient {
	return client(p, p.api, insightv1connect.NewFailureServiceClient)
}

func (p peers) artifacts() artifactconnect.ArtifactServiceClient {
	return client(p, p.api, artifactconnect.NewArtifactServiceClient)
}

func (p peers) artifactEvents() enginev1connect.ArtifactEventServiceClient {
	return client(p, p.api, enginev1connect.NewArtifactEventServiceClient)
}

func (p peers) appFleet() enginev1connect.AppFleetServiceClient {
	return client(p, p.api, enginev1connect.NewAppFleetServiceClient)
}

// located says where work runs.
func (p peers) located() located.Work {
	return located.Work{Attempts: p.engine(), Apps: p.appFleet(), Workers: p.workerFleet()}
}

func (p peers) workerFleet() enginev1connect.WorkerFleetServiceClient {
	return client(p, p.api, enginev1connect.NewWorkerFleetServiceClient)
}

func (p peers) workerPools() enginev1connect.WorkerPoolServiceClient {
	return client(p, p.api, enginev1connect.NewWorkerPoolServiceClient)
}

func (p peers) connectors() enginev1connect.ConnectorRegistryServiceClient {
	return client(p, p.api, enginev1connect.NewConnectorRegistryServiceClient)
}

func (p peers) appUses() enginev1connect.AppUseServiceClient {
	return client(p, p.api, enginev1connect.NewAppUseServiceClient)
}

func (p peers) artifactUses() enginev1connect.ArtifactUseServiceClient {
	return client(p, p.api, enginev1connect.NewArtifactUseServiceClient)
}

func (p peers) appRoutes() enginev1connect.AppRouteServiceClient {
	return client(p, p.api, enginev1connect.NewAppRouteServiceClient)
}

func (p peers) insight() insightv1connect.InsightServiceClient {
	return client(p, p.api, insightv1connect.NewInsightServiceClient)
}

// podLogs returns what makes the client of the pod logs of a cluster: this process, if it runs the cluster; the address that the
// configuration has for it; or else the link of its controller. L is the interface of the service that calls them.
func podLogs[L any](p peers, config configuration.Config, as func(podLogReader) L) func(cluster string) L {
	clients := map[string]podLogReader{}
	if config.Target.Controller() {
		clients[config.Cluster.ID] = client(p, "", enginev1connect.NewPodLogServiceClient)
	}
	for _, remote := range config.Clusters {
		of := p
		if remote.Token != "" {
			of.token = remote.Token
		}
		clients[remote.ID] = client(of, remote.URL, enginev1connect.NewPodLogServiceClient)
	}
	links := client(p, "", clustersv1connect.NewClusterLogServiceClient)
	return func(cluster string) L {
		if known := clients[cluster]; known != nil {
			return as(known)
		}
		return as(linkedLogs{links, cluster})
	}
}

// podLogReader reads the logs of the pods of one cluster.
type podLogReader interface {
	TailContainer(ctx context.Context, r *enginev1.TailContainerRequest) (*connect.ServerStreamForClient[enginev1.TailContainerResponse], error)
}

// linkedLogs are the logs of a cluster through the link of its controller.
type linkedLogs struct {
	links   clustersv1connect.ClusterLogServiceClient
	cluster string
}

// TailContainer implements podLogReader.
func (l linkedLogs) TailContainer(ctx context.Context, r *enginev1.TailContainerRequest) (*connect.ServerStreamForClient[enginev1.TailContainerResponse], error) {
	return l.links.TailClusterLog(ctx, &clustersv1.TailClusterLogRequest{Cluster: l.cluster, Request: r})
}
