package executor

import (
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/executor/logs"
	"github.com/flyte-binary/flyte-binary/executor/podspec"
	"github.com/flyte-binary/flyte-binary/executor/reconciler"
)

// Config configures the service.
type Config struct {
	// Reconciler creates, retries and ends attempts.
	Reconciler reconciler.Config `mapstructure:"reconciler"`
	// Plugins says which plugins run attempts.
	Plugins Plugins `mapstructure:"plugins"`
	// Pod says how the pods of every plugin look.
	Pod podspec.Config `mapstructure:"pod"`
	// Logs says how logs are read and stored.
	Logs logs.Config `mapstructure:"logs"`
	// Namespaces limits the executor to some namespaces; empty means all.
	Namespaces []string `mapstructure:"namespaces"`
	// InstallCRD installs the definition of TaskActions at startup. Default true; false where a chart does it.
	InstallCRD bool `mapstructure:"installCrd"`
	// StartupWait is how long startup waits for the cluster; after that the service retries in the background.
	// Where replicas elect a leader, startup does not wait. Default 10 s.
	StartupWait time.Duration `mapstructure:"startupWait"`
}

// DefaultConfig suits one replica.
func DefaultConfig() Config {
	return Config{
		Reconciler:  reconciler.DefaultConfig(),
		Plugins:     DefaultPlugins(),
		Pod:         podspec.DefaultConfig(),
		Logs:        logs.DefaultConfig(),
		InstallCRD:  true,
		StartupWait: 10 * time.Second,
	}
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	if err := c.Reconciler.Validate(); err != nil {
		return fmt.Errorf("reconciler.%w", err)
	}
	if err := c.Plugins.Validate(); err != nil {
		return fmt.Errorf("plugins.%w", err)
	}
	if err := c.Pod.Validate(); err != nil {
		return fmt.Errorf("pod.%w", err)
	}
	if err := c.Logs.Validate(); err != nil {
		return fmt.Errorf("logs.%w", err)
	}
	if c.StartupWait < 0 {
		return fmt.Errorf("startupWait: must not be negative, got %s", c.StartupWait)
	}
	return nil
}
