// Package tasktype says which types of task an installation serves, in the words with which the runs service and the
// executor refuse the others. A task of a type that no one serves must not run: a distributed job would silently run
// alone.
package tasktype

import (
	"fmt"
	"maps"
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
	"dbt",       // commands of dbt that the SDK's plugin runs
	"notebook",  // notebooks that the SDK's plugin runs
	Python,
	"python-task",      // functions of older SDKs, and PyTorch on one node
	"raw-container",    // containers without an SDK
	"rust-task",        // functions in Rust that the SDK's plugin describes
	"sandboxed-python", // functions that the SDK runs in its sandbox
}

// IsContainer reports whether the tasks of a type are one container or pod each, which every cluster runs.
func IsContainer(taskType string) bool {
	return taskType == "" || slices.Contains(containers, taskType)
}

// Ray is the type of functions that are the driver of a Ray cluster.
const Ray = "ray"

// operators are known types of distributed jobs, the plugin that runs them where it is enabled, and what it requires of
// the cluster.
var operators = map[string]string{
	"clustered-task": "the plugin jobset, and the JobSet controller on the cluster",
	"dask":           "the plugin dask, and the Dask operator on the cluster",
	"mpi":            "the plugin mpi, and the Kubeflow training operator on the cluster",
	"pytorch":        "the plugin pytorch, and the Kubeflow training operator on the cluster, or the plugin trainjob, and Kubeflow Trainer",
	Ray:              "the plugin ray, and the KubeRay operator on the cluster",
	"spark":          "the plugin spark, and the Spark operator on the cluster",
	"tensorflow":     "the plugin tensorflow, and the Kubeflow training operator on the cluster",
}

// connectors are known types whose work runs on another system, and that system.
var connectors = map[string]string{
	"bigquery_query_job_task": "BigQuery",
	"databricks":              "Databricks",
	"slurm":                   "Slurm",
	"slurm_script":            "Slurm",
	"snowflake":               "Snowflake",
}

// Set is the types that an installation serves. The zero value serves those that need no configuration.
type Set struct {
	configured, made map[string]string
	connected        Connected
}

// Connected is what connectors say about the type of one task.
type Connected struct {
	// Connector runs the tasks of the type; empty for none.
	Connector string
	// Types are those that connectors serve, and Silent the connectors that have never said what they serve. Both are for the
	// words of a refusal.
	Types, Silent []string
}

// NewSet returns a set with the types that the configuration gives to a plugin, and those that an enabled plugin is made
// for. Both are names of plugins by type.
func NewSet(configured, made map[string]string) Set { return Set{configured: configured, made: made} }

// With returns the set for one task, about whose type connectors were asked.
func (s Set) With(c Connected) Set {
	s.connected = c
	return s
}

// Reported returns the set with the types that clusters say that they run. If only is set, these are all that clusters run, whatever
// the configuration of this process says.
func (s Set) Reported(types []string, only bool) Set {
	if len(types) == 0 && !only {
		return s
	}
	made := map[string]string{}
	if only {
		s.configured = nil
	} else {
		maps.Copy(made, s.made)
	}
	for _, one := range types {
		if made[one] == "" {
			made[one] = "cluster"
		}
	}
	s.made = made
	return s
}

// Connector is the connector that runs the task; empty if something else does.
func (s Set) Connector() string { return s.connected.Connector }

// Asks reports whether only a connector can run a task: nothing else serves its type.
func (s Set) Asks(template *core.TaskTemplate) bool { return !s.runs(template.GetType()) }

func (s Set) runs(taskType string) bool {
	return taskType == "" || taskType == Sleep || taskType == Echo || slices.Contains(containers, taskType) ||
		s.configured[taskType] != "" || s.made[taskType] != ""
}

// Names are the types, in order.
func (s Set) Names() []string {
	names := slices.Concat([]string{Sleep, Echo}, containers, s.connected.Types)
	for _, types := range []map[string]string{s.configured, s.made} {
		names = slices.AppendSeq(names, maps.Keys(types))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Refusal says why a task is not served because of its type, what would serve it and what is; empty if it is served.
func (s Set) Refusal(template *core.TaskTemplate) string {
	taskType := template.GetType()
	if s.runs(taskType) || s.connected.Connector != "" {
		return ""
	}
	served := strings.Join(s.Names(), ", ")
	if system, known := connectors[taskType]; known {
		return s.needsConnector(taskType, "a connector to "+system, served)
	}
	missing, known := operators[taskType]
	if !known && !hasProgram(template) {
		return s.needsConnector(taskType, "a connector", served)
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
func (s Set) needsConnector(taskType, connector, served string) string {
	words := fmt.Sprintf("no connector serves tasks of type %q: they need %s. This installation serves %s. "+
		"Start the connector and add its address to connectors.endpoints", taskType, connector, served)
	if len(s.connected.Silent) > 0 {
		words += "; these connectors have not said yet which types they serve: " + strings.Join(s.connected.Silent, ", ")
	}
	return words
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
