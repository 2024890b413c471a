package manager

import (
	"fmt"

	"github.com/flyte-binary/flyte-binary/actions"
	"github.com/flyte-binary/flyte-binary/actions/bridge"
	cacheservice "github.com/flyte-binary/flyte-binary/cache_service"
	"github.com/flyte-binary/flyte-binary/dataproxy"
	"github.com/flyte-binary/flyte-binary/events"
	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/runs"
)

// Config is the configuration of one process: a section for each part.
type Config struct {
	// Server is the port.
	Server ServerConfig `mapstructure:"server"`
	// Auth says how callers are told apart.
	Auth AuthConfig `mapstructure:"auth"`
	// Logging is the log of the process.
	Logging obs.LogConfig `mapstructure:"logging"`
	// Telemetry is traces and metrics.
	Telemetry obs.TelemetryConfig `mapstructure:"telemetry"`
	// Database is Postgres.
	Database pgdb.Config `mapstructure:"database"`
	// Storage is the object store.
	Storage blobstore.Config `mapstructure:"storage"`
	// Kubernetes is the cluster that runs the tasks.
	Kubernetes KubernetesConfig `mapstructure:"kubernetes"`
	// Replicas says whether several processes serve one installation.
	Replicas ReplicasConfig `mapstructure:"replicas"`
	// Runs is the state machine and what reads it.
	Runs runs.Config `mapstructure:"runs"`
	// Cache keeps which outputs tasks have computed.
	Cache cacheservice.Config `mapstructure:"cache"`
	// Actions is what running tasks call.
	Actions actions.Config `mapstructure:"actions"`
	// Bridge turns what is admitted into TaskAction objects.
	Bridge bridge.Config `mapstructure:"bridge"`
	// Executor makes pods of TaskAction objects and reports what becomes of them.
	Executor executor.Config `mapstructure:"executor"`
	// Events batches what executors report.
	Events events.Config `mapstructure:"events"`
	// DataProxy moves data between clients and the object store, and tails logs.
	DataProxy dataproxy.Config `mapstructure:"dataproxy"`
}

// DefaultConfig is the configuration of a process that nothing was said to. Database and storage must be given.
func DefaultConfig() Config {
	return Config{
		Server:     DefaultServerConfig(),
		Logging:    obs.DefaultLogConfig(),
		Telemetry:  obs.DefaultTelemetryConfig(),
		Database:   pgdb.DefaultConfig(),
		Storage:    blobstore.DefaultConfig(),
		Kubernetes: DefaultKubernetesConfig(),
		Runs:       runs.DefaultConfig(),
		Cache:      cacheservice.DefaultConfig(),
		Actions:    actions.DefaultConfig(),
		Bridge:     bridge.DefaultConfig(),
		Executor:   executor.DefaultConfig(),
		Events:     events.DefaultConfig(),
		DataProxy:  dataproxy.DefaultConfig(),
	}
}

// Validate names the first field that is wrong, by its full path.
func (c Config) Validate() error {
	for _, section := range []struct {
		name     string
		validate func() error
	}{
		{"server", c.Server.Validate},
		{"logging", c.Logging.Validate},
		{"telemetry", c.Telemetry.Validate},
		{"database", c.Database.Validate},
		{"storage", c.Storage.Validate},
		{"kubernetes", c.Kubernetes.Validate},
		{"replicas", c.Replicas.Validate},
		{"runs", c.Runs.Validate},
		{"cache", c.Cache.Validate},
		{"actions", c.Actions.Validate},
		{"bridge", c.Bridge.Validate},
		{"executor", c.Executor.Validate},
		{"events", c.Events.Validate},
		{"dataproxy", c.DataProxy.Validate},
	} {
		if err := section.validate(); err != nil {
			return fmt.Errorf("%s.%w", section.name, err)
		}
	}
	return nil
}
