package job

import (
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
)

// Config configures the plugin.
type Config struct {
	// Queue is the LocalQueue of Kueue in the namespaces of tasks that admits Jobs; a label kueue.x-k8s.io/queue-name of
	// the run or the task takes precedence. Empty adds no label.
	Queue string `config:"queue"`
	// Queues are those of executor.plugins.queues, which precede Queue.
	Queues kueue.Queues `config:"-"`
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Queue != "" && !kueue.IsQueue(c.Queue), "queue: %q is not the name of a LocalQueue", c.Queue)
	return found.Err()
}
