// Package tasktype says which types of task an installation serves, in the words with which the runs service and the
// executor refuse the others. A task of a type that no one serves must not run: a distributed job would silently run
// alone.
package tasktype

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Types that the runs service runs itself, without a pod.
const (
	Sleep = "core-sleep" // takes a duration and has no outputs
	Echo  = "echo"       // its outputs are its inputs
)

// Python is the type of functions.
const Python = "python"

// Actor is the type of functions of reusable environments: workers run them, or a pod each where there are no workers.
const Actor = "actor"

// containers are the types whose tasks are one container or pod each. Without a type, a task is one too.
var containers = []string{
	Actor,
	"container", // containers of other SDKs
	"notebook",  // notebooks that the SDK's plugin runs
	Python,
	"python-task",      // functions of older SDKs, and PyTorch on one node
	"raw-container",    // containers without an SDK
	"sandboxed-python", // functions that the SDK runs in its sandbox
}

// operators are known types of distributed jobs, the plugin that runs them where it is enabled, and what it requires of
// the cluster.
var operators = map[string]string{
	"clustered-task": "the plugin jobset, and the JobSet controller on the cluster",
	"dask":           "the plugin dask, and the Dask operator on the cluster",
	"mpi":            "the plugin mpi, and the Kubeflow training operator on the cluster",
	"pytorch":        "the plugin pytorch, and the Kubeflow training operator on the cluster",
	"ray":            "the plugin ray, and the KubeRay operator on the cluster",
	"spark":          "the plugin spark, and the Spark operator on the cluster",
	"tensorflow":     "the plugin tensorflow, and the Kubeflow training operator on the cluster",
}

// connectors are known types whose work runs on another system, and that system.
var connectors = map[string]string{
	"bigquery_query_job_task": "BigQuery",
	"databricks":              "Databricks",
	"snowflake":               "Snowflake",
}

// Set is the types that an installation serves. The zero value serves those that need no configuration.
type Set struct {
	configured, made map[string]string
}

// NewSet returns a set with the types that the configuration gives to a plugin, and those that an enabled plugin is made
// for. Both are names of plugins by type.
func NewSet(configured, made map[string]string) Set { return Set{configured: configured, made: made} }

// Names are the types, in order.
func (s Set) Names() []string {
	names := append([]string{Sleep, Echo}, containers...)
	for _, types := range []map[string]string{s.configured, s.made} {
		for name := range types {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Refusal says why a task is not served because of its type, what would serve it and what is; empty if it is served.
func (s Set) Refusal(template *core.TaskTemplate) string {
	taskType := template.GetType()
	if taskType == "" || taskType == Sleep || taskType == Echo || slices.Contains(containers, taskType) || s.configured[taskType] != "" || s.made[taskType] != "" {
		return ""
	}
	served := strings.Join(s.Names(), ", ")
	if system, known := connectors[taskType]; known {
		return needsConnector(taskType, "a connector to "+system, served)
	}
	missing, known := operators[taskType]
	if !known && !hasProgram(template) {
		return needsConnector(taskType, "a connector", served)
	}
	if !known {
		missing = "a plugin or a connector for it"
	}
	enable := ""
	if known {
		enable = "An administrator enables plugins in executor.plugins.enabled. "
	}
	return fmt.Sprintf("no part of this installation serves tasks of type %q: that takes %s. It serves %s. "+
		"%sTo run such a task alone, as one plain pod, list %s=pod in executor.plugins.taskTypes",
		taskType, missing, served, enable, taskType)
}

// needsConnector says that the work of a task is not in the task: another system runs it, and a connector passes it on.
func needsConnector(taskType, connector, served string) string {
	return fmt.Sprintf("tasks of type %q need %s, and this server does not run connectors yet. It serves %s. "+
		"Until it runs them, call that system from a Python task", taskType, connector, served)
}

// hasProgram reports whether the task brings something that a pod can run. Tasks of connectors have a container without an image,
// a statement, or nothing.
func hasProgram(template *core.TaskTemplate) bool {
	return template.GetContainer().GetImage() != "" || template.GetK8SPod() != nil
}

// Note says that a task of a type runs alone because the configuration gives it to a plugin that is not made for it; empty
// for other types.
func (s Set) Note(taskType string) string {
	plugin := s.configured[taskType]
	if plugin == "" || slices.Contains(containers, taskType) || s.made[taskType] == plugin {
		return ""
	}
	return fmt.Sprintf("a task of type %q runs alone here, in one plain pod, because executor.plugins.taskTypes has %s=%s", taskType, taskType, plugin)
}
