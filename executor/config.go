package executor

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/executor/measure"
	"github.com/flyte-binary/flyte-binary/executor/reconciler"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/pods/logs"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Config configures the service.
type Config struct {
	// Reconciler creates, retries and ends attempts.
	Reconciler reconciler.Config `config:"reconciler"`
	// Plugins says which plugins run attempts.
	Plugins Plugins `config:"plugins"`
	// Pod says how the pods of every plugin look.
	Pod podspec.Config `config:"pod"`
	// Logs says how logs are read and stored.
	Logs logs.Config `config:"logs"`
	// Measure says how often what tasks use is measured.
	Measure measure.Config `config:"measure"`
	// Events follows the Events of the cluster, and shows those about pods and objects of attempts among the events of actions. It
	// needs the right to list and watch events. Default true.
	Events bool `config:"events"`
	// Namespaces limits the executor to some namespaces; empty means all.
	Namespaces []string `config:"namespaces"`
	// InstallCRD installs the definition of TaskActions at startup. Default true; false where a chart does it.
	InstallCRD bool `config:"installCrd"`
	// StartupWait is how long startup waits for the cluster; after that the service retries in the background.
	// Where replicas elect a leader, startup does not wait. Default 10 s.
	StartupWait time.Duration `config:"startupWait"`
}

// DefaultConfig suits one replica.
func DefaultConfig() Config {
	return Config{
		Reconciler:  reconciler.DefaultConfig(),
		Plugins:     DefaultPlugins(),
		Pod:         podspec.DefaultConfig(),
		Logs:        logs.DefaultConfig(),
		Measure:     measure.DefaultConfig(),
		Events:      true,
		InstallCRD:  true,
		StartupWait: 10 * time.Second,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.Section("reconciler", c.Reconciler.Validate())
	found.Section("plugins", c.Plugins.Validate())
	found.Section("pod", c.Pod.Validate())
	found.Section("logs", c.Logs.Validate())
	found.Section("measure", c.Measure.Validate())
	found.If(c.StartupWait < 0, "startupWait: must not be negative, got %s", c.StartupWait)
	return found.Err()
}

// namespaces are those of the objects, or the one name for all.
func (c Config) namespaces() []string {
	if len(c.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return c.Namespaces
}
