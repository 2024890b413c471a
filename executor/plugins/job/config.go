package job

import (
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// labelQueue names the LocalQueue of Kueue that admits a Job.
const labelQueue = "kueue.x-k8s.io/queue-name"

// Config configures the plugin.
type Config struct {
	// Queue is the LocalQueue of Kueue in the namespaces of tasks that admits Jobs; a label kueue.x-k8s.io/queue-name of
	// the run or the task takes precedence. Empty adds no label.
	Queue string `config:"queue"`
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Queue != "" && len(validation.IsDNS1123Subdomain(c.Queue)) > 0, "queue: %q is not the name of a LocalQueue", c.Queue)
	return found.Err()
}
