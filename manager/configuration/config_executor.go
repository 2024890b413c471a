package configuration

import (
	"time"

	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/executor/measure"
	"github.com/flyte-binary/flyte-binary/executor/reconciler"
	"github.com/flyte-binary/flyte-binary/pods/logs"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/pools/workerpods"
)

// ExecutorConfig is what runs next to a cluster: the configuration of the executor, and that of the pods of workers.
type ExecutorConfig struct {
	// Reconciler creates, retries and ends attempts.
	Reconciler reconciler.Config `config:"reconciler"`
	// Plugins says which plugins run attempts.
	Plugins executor.Plugins `config:"plugins"`
	// Pod says how the pods of every plugin look.
	Pod podspec.Config `config:"pod"`
	// Logs says how logs are read and stored.
	Logs logs.Config `config:"logs"`
	// Measure says how often what tasks use is measured.
	Measure measure.Config `config:"measure"`
	// Workers says how the pods of workers look, in addition to what Pod says.
	Workers workerpods.Config `config:"workers"`
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

// DefaultExecutorConfig suits one replica.
func DefaultExecutorConfig() ExecutorConfig {
	own := executor.DefaultConfig()
	return ExecutorConfig{
		Reconciler: own.Reconciler, Plugins: own.Plugins, Pod: own.Pod, Logs: own.Logs, Measure: own.Measure, Events: own.Events, Namespaces: own.Namespaces,
		InstallCRD: own.InstallCRD, StartupWait: own.StartupWait,
	}
}

// Service is the part that the executor reads.
func (c ExecutorConfig) Service() executor.Config {
	return executor.Config{
		Reconciler: c.Reconciler, Plugins: c.Plugins, Pod: c.Pod, Logs: c.Logs, Measure: c.Measure, Events: c.Events, Namespaces: c.Namespaces,
		InstallCRD: c.InstallCRD, StartupWait: c.StartupWait,
	}
}

// HasWorkerProgram reports whether the pods of workers can get their program.
func (c ExecutorConfig) HasWorkerProgram() bool {
	return c.Workers.Program != "" || c.Pod.Copilot.Image != ""
}

// Validate lists the fields that are wrong.
func (c ExecutorConfig) Validate() error { return c.Service().Validate() }
