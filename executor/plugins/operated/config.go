package operated

import (
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
)

// Config configures the plugins of all operators.
type Config struct {
	// Queue is the LocalQueue of Kueue in the namespaces of tasks that admits the objects of operators; a label
	// kueue.x-k8s.io/queue-name of the run or the task takes precedence. Empty adds no label.
	Queue string `config:"queue"`
	// SparkServiceAccount is the service account of Spark's drivers whose task names none. It must be allowed to create
	// pods, services and config maps in the namespaces of tasks. Default spark; empty
	// means the default account of the namespace.
	SparkServiceAccount string `config:"sparkServiceAccount"`
	// MaxSharedRayClusters is how many Ray clusters of reusable environments exist at most; 0 for any number. An attempt that needs one
	// more ends the one that has been idle for the longest time, or waits.
	MaxSharedRayClusters int `config:"maxSharedRayClusters"`
	// MaxSharedRayClustersPerProject is how many of them one project has at most, in all of its domains; 0 for any number.
	MaxSharedRayClustersPerProject int `config:"maxSharedRayClustersPerProject"`
	// Queues are those of executor.plugins.queues, which precede Queue.
	Queues kueue.Queues `config:"-"`
}

// DefaultConfig has no queue.
func DefaultConfig() Config {
	return Config{SparkServiceAccount: "spark", MaxSharedRayClusters: 50, MaxSharedRayClustersPerProject: 10}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Queue != "" && !kueue.IsQueue(c.Queue), "queue: %q is not the name of a LocalQueue", c.Queue)
	found.If(c.SparkServiceAccount != "" && len(validation.IsDNS1123Subdomain(c.SparkServiceAccount)) > 0,
		"sparkServiceAccount: %q is not the name of a service account", c.SparkServiceAccount)
	found.If(c.MaxSharedRayClusters < 0, "maxSharedRayClusters: want 0 or more, got %d", c.MaxSharedRayClusters)
	found.If(c.MaxSharedRayClustersPerProject < 0, "maxSharedRayClustersPerProject: want 0 or more, got %d", c.MaxSharedRayClustersPerProject)
	return found.Err()
}
