package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

func TestTargetsSelectTheirModules(t *testing.T) {
	selected := func(target configuration.Target) []string {
		modules, err := modules().Select(configuration.Targets()[target]...)
		require.NoError(t, err)
		return modules.Names()
	}
	require.Equal(t, []string{
		"database", "storage", "access", "clusters", "cache", "artifacts", "runs", "secret", "notifications", "triggers", "apps", "eventstream", "dataproxy", "system",
		"console", "gateway", "mcp", "events", "workers", "connectors", "actions", "profiles", "port",
	}, selected(configuration.TargetAPI), "no Kubernetes")
	require.Equal(t, []string{
		"storage", "kubernetes", "election", "events", "executor", "deployer", "link", "workerpods", "actions", "profiles", "port",
	}, selected(configuration.TargetController), "no database")
	require.ElementsMatch(t, modules().Names(), selected(configuration.TargetAll), "everything")
}

func TestConfigOfTargetsAndClusters(t *testing.T) {
	valid := func() configuration.Config {
		config := configuration.DefaultConfig()
		config.Storage.URL = "/data"
		config.Target, config.Cluster.ID = configuration.TargetController, "east"
		config.ControlPlane.URL = "http://flyte:8090"
		config.Auth.InternalToken = "secret"
		config.Replicas.Installation = "home"
		return config
	}
	require.NoError(t, valid().Validate(), "a controller needs no database")
	for message, spoil := range map[string]func(*configuration.Config){
		`target: want all, api, controller, got "executor"`: func(c *configuration.Config) {
			c.Target = "executor"
			c.Database.URL = "postgres://localhost/flyte"
		},
		`controlPlane.url: required with target controller: want http://host:port or https://host:port, got ""`: func(c *configuration.Config) { c.ControlPlane.URL = "" },
		"controlPlane.credential: required with target controller":                                              func(c *configuration.Config) { c.Auth.InternalToken = "" },
		"replicas.installation: required with target controller":                                                func(c *configuration.Config) { c.Replicas.Installation = "" },
		`cluster.id: must be 1 to 32 lower-case letters, digits and dashes, got "East"`:                         func(c *configuration.Config) { c.Cluster.ID = "East" },
		`clusters[0].id: cluster "east" is configured twice`: func(c *configuration.Config) {
			c.Clusters = []configuration.RemoteCluster{{ID: "east", URL: "http://east:8090"}}
		},
		`clusters[0].url: want http://host:port or https://host:port, got "east:8090"`: func(c *configuration.Config) {
			c.Clusters = []configuration.RemoteCluster{{ID: "west", URL: "east:8090"}}
		},
	} {
		config := valid()
		spoil(&config)
		require.ErrorContains(t, config.Validate(), message)
	}
}

func TestAControllerSendsItsTasksToTheControlPlane(t *testing.T) {
	config := configuration.DefaultConfig()
	config.Target, config.ControlPlane.URL = configuration.TargetController, "https://flyte.example"
	fillAddresses(&config, stringAddr("10.1.2.3:8090"))
	require.Equal(t, "flyte.example", config.Executor.Pod.Endpoint)
	require.False(t, config.Executor.Pod.Insecure)
	require.Equal(t, "https://flyte.example", config.Storage.PublicURL)
}

// stringAddr is the address of a listener.
type stringAddr string

func (stringAddr) Network() string  { return "tcp" }
func (a stringAddr) String() string { return string(a) }
