package attemptobject

import (
	"strings"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// ShortName is the name of an attempt's object where names have at most limit characters. It is that of the pod plugin's
// pod, with the readable part cut. The hash at the end of a TaskAction's name keeps it unique.
func ShortName(attempt *plugin.Attempt, limit int) string {
	task := attempt.Task.Name
	name := v1.PodName(task, attempt.Number)
	over := len(name) - limit
	if over <= 0 {
		return name
	}
	hash := strings.LastIndex(task, "-")
	if hash < over {
		return name // not a valid name; the API server explains what is wrong
	}
	return strings.TrimRight(task[:hash-over], "-") + name[hash:]
}
