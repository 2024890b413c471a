package configuration

import (
	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/actions"
	"github.com/flyte-binary/flyte-binary/apps"
	"github.com/flyte-binary/flyte-binary/apps/deployer"
	"github.com/flyte-binary/flyte-binary/apps/gateway"
	"github.com/flyte-binary/flyte-binary/artifacts"
	cacheservice "github.com/flyte-binary/flyte-binary/cache_service"
	"github.com/flyte-binary/flyte-binary/connectors"
	"github.com/flyte-binary/flyte-binary/dataproxy"
	"github.com/flyte-binary/flyte-binary/events"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/mcp"
	"github.com/flyte-binary/flyte-binary/notifications"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
	"github.com/flyte-binary/flyte-binary/pools"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/secret"
	"github.com/flyte-binary/flyte-binary/triggers"
)

// Config is the configuration of one process: a section for each part.
type Config struct {
	// Target is the part of the installation that this process runs: all, api or controller. serve --target sets it.
	// Defaults to all.
	Target Target `config:"target"`
	// Cluster is the Kubernetes cluster that this process works on.
	Cluster ClusterConfig `config:"cluster"`
	// Clusters are those whose controllers run in other processes, for the logs of their pods.
	Clusters []RemoteCluster `config:"clusters"`
	// ControlPlane is the API as a controller in another process reaches it.
	ControlPlane ControlPlaneConfig `config:"controlPlane"`
	// Server is the port.
	Server ServerConfig `config:"server"`
	// Auth is the credential of the processes of an installation that is split.
	Auth AuthConfig `config:"auth"`
	// Access says who may use the installation, and for what.
	Access access.Config `config:"access"`
	// Logging is the log of the process.
	Logging obs.LogConfig `config:"logging"`
	// Telemetry is traces and metrics.
	Telemetry obs.TelemetryConfig `config:"telemetry"`
	// Health says when the process counts as degraded.
	Health HealthConfig `config:"health"`
	// Database is Postgres.
	Database pgdb.Config `config:"database"`
	// Storage is the object store.
	Storage blobstore.Config `config:"storage"`
	// Kubernetes is the cluster that runs the tasks.
	Kubernetes KubernetesConfig `config:"kubernetes"`
	// Replicas says whether several processes serve one installation.
	Replicas ReplicasConfig `config:"replicas"`
	// Runs is the state machine and what reads it.
	Runs runs.Config `config:"runs"`
	// Cache keeps which outputs tasks have computed.
	Cache cacheservice.Config `config:"cache"`
	// Triggers fires triggers.
	Triggers triggers.Config `config:"triggers"`
	// Artifacts keeps the artifacts that runs produce and consume.
	Artifacts artifacts.Config `config:"artifacts"`
	// Workers runs the tasks of reusable environments.
	Workers pools.Config `config:"workers"`
	// Connectors runs tasks in other systems.
	Connectors connectors.Config `config:"connectors"`
	// Apps keeps the apps and decides what runs of them.
	Apps apps.Config `config:"apps"`
	// Actions is what running tasks call, and what creates and deletes TaskAction objects.
	Actions actions.Config `config:"actions"`
	// Executor makes pods of TaskAction objects and reports their outcome.
	Executor ExecutorConfig `config:"executor"`
	// Deployer runs apps on the cluster. It comes with target controller.
	Deployer deployer.Config `config:"deployer"`
	// Events batches what executors report.
	Events events.Config `config:"events"`
	// Notifications tells people how runs ended.
	Notifications notifications.Config `config:"notifications"`
	// EventStream publishes changes of runs and actions.
	EventStream cloudevents.Config `config:"eventStream"`
	// DataProxy moves data between clients and the object store, and tails logs.
	DataProxy dataproxy.Config `config:"dataproxy"`
	// Gateway passes requests on to apps.
	Gateway gateway.Config `config:"gateway"`
	// Secrets is where the values of secrets are stored.
	Secrets secret.Config `config:"secrets"`
	// MCP lets agents use the installation through the Model Context Protocol.
	MCP mcp.Config `config:"mcp"`
}

// DefaultConfig returns the default configuration. Database and storage have no default and are required.
func DefaultConfig() Config {
	return Config{
		Target:        TargetAll,
		Cluster:       ClusterConfig{ID: ident.DefaultCluster},
		Server:        DefaultServerConfig(),
		Access:        access.DefaultConfig(),
		Logging:       obs.DefaultLogConfig(),
		Telemetry:     obs.DefaultTelemetryConfig(),
		Health:        DefaultHealthConfig(),
		Database:      pgdb.DefaultConfig(),
		Storage:       blobstore.DefaultConfig(),
		Kubernetes:    DefaultKubernetesConfig(),
		Replicas:      DefaultReplicasConfig(),
		Runs:          runs.DefaultConfig(),
		Cache:         cacheservice.DefaultConfig(),
		Actions:       actions.DefaultConfig(),
		Executor:      DefaultExecutorConfig(),
		Deployer:      deployer.DefaultConfig(),
		Events:        events.DefaultConfig(),
		Notifications: notifications.DefaultConfig(),
		EventStream:   cloudevents.DefaultConfig(),
		DataProxy:     dataproxy.DefaultConfig(),
		Gateway:       gateway.DefaultConfig(),
		Secrets:       secret.DefaultConfig(),
		Triggers:      triggers.DefaultConfig(),
		Artifacts:     artifacts.DefaultConfig(),
		Apps:          apps.DefaultConfig(),
		Workers:       pools.DefaultConfig(),
		Connectors:    connectors.DefaultConfig(),
		MCP:           mcp.DefaultConfig(),
	}
}

// Validate lists the fields that are wrong, each by its full path; it joins one error for each.
func (c Config) Validate() error {
	var found invalid.Fields
	for _, section := range []struct {
		name     string
		validate func() error
	}{
		{"cluster", c.Cluster.Validate},
		{"server", c.Server.Validate},
		{"auth", c.Auth.Validate},
		{"access", c.Access.Validate},
		{"logging", c.Logging.Validate},
		{"telemetry", c.Telemetry.Validate},
		{"health", c.Health.Validate},
		{"database", c.Database.Validate},
		{"storage", c.Storage.Validate},
		{"kubernetes", c.Kubernetes.Validate},
		{"replicas", c.Replicas.Validate},
		{"runs", c.Runs.Validate},
		{"cache", c.Cache.Validate},
		{"triggers", c.Triggers.Validate},
		{"artifacts", c.Artifacts.Validate},
		{"apps", c.Apps.Validate},
		{"workers", c.Workers.Validate},
		{"connectors", c.Connectors.Validate},
		{"mcp", c.MCP.Validate},
		{"actions", c.Actions.Validate},
		{"executor", c.Executor.Validate},
		{"deployer", c.Deployer.Validate},
		{"events", c.Events.Validate},
		{"notifications", c.Notifications.Validate},
		{"eventStream", c.EventStream.Validate},
		{"dataproxy", c.DataProxy.Validate},
		{"gateway", c.Gateway.Validate},
		{"secrets", c.Secrets.Validate},
	} {
		if section.name == "database" && !c.Target.API() {
			continue // a controller has none
		}
		found.Section(section.name, section.validate())
	}
	if err := c.Target.Validate(); err != nil {
		found.Add("target: %w", err)
	}
	found.Section("", c.validateClusters())
	found.If(c.Access.Proxy.ClientCAFile != "" && !c.Server.TLS.Enabled(),
		"access.proxy.clientCAFile: requires server.tls, since proxies present their certificate in a TLS connection")
	return found.Err()
}
