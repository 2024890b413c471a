package executor

import (
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/executor/logs"
	"github.com/flyte-binary/flyte-binary/executor/plugins/pod"
	"github.com/flyte-binary/flyte-binary/executor/reconciler"
)

// Config configures the service.
type Config struct {
	// Reconciler decides about attempts.
	Reconciler reconciler.Config `mapstructure:"reconciler"`
	// Pod says what pods look like.
	Pod pod.Config `mapstructure:"pod"`
	// Logs says how logs are kept.
	Logs logs.Config `mapstructure:"logs"`
	// Namespaces limits the executor to some namespaces; empty means all.
	Namespaces []string `mapstructure:"namespaces"`
	// InstallCRD installs the definition of TaskActions at the start. Default true; false where the chart does it.
	InstallCRD bool `mapstructure:"installCrd"`
	// LeaderElection lets several replicas stand by for one that reconciles.
	LeaderElection LeaderElection `mapstructure:"leaderElection"`
	// StartupWait is how long the start waits for the cluster; after it the service goes on trying by itself.
	// Default 10 s.
	StartupWait time.Duration `mapstructure:"startupWait"`
}

// LeaderElection is by a lease in the cluster.
type LeaderElection struct {
	// Enabled turns it on. Default false: one replica.
	Enabled bool `mapstructure:"enabled"`
	// Namespace of the lease. Required when enabled.
	Namespace string `mapstructure:"namespace"`
	// Name of the lease; the id of the installation is appended. Default flyte-executor.
	Name string `mapstructure:"name"`
}

// DefaultConfig suits one replica.
func DefaultConfig() Config {
	return Config{
		Reconciler:     reconciler.DefaultConfig(),
		Pod:            pod.DefaultConfig(),
		Logs:           logs.DefaultConfig(),
		InstallCRD:     true,
		LeaderElection: LeaderElection{Name: "flyte-executor"},
		StartupWait:    10 * time.Second,
	}
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	if err := c.Reconciler.Validate(); err != nil {
		return fmt.Errorf("reconciler.%w", err)
	}
	if err := c.Pod.Validate(); err != nil {
		return fmt.Errorf("pod.%w", err)
	}
	if err := c.Logs.Validate(); err != nil {
		return fmt.Errorf("logs.%w", err)
	}
	if c.LeaderElection.Enabled && (c.LeaderElection.Namespace == "" || c.LeaderElection.Name == "") {
		return fmt.Errorf("leaderElection.namespace: must be set, and the name too")
	}
	if c.StartupWait < 0 {
		return fmt.Errorf("startupWait: must not be negative, got %s", c.StartupWait)
	}
	return nil
}
