// Package tasktype says which types of task an installation serves, in the words with which the runs service and the
// executor refuse the others. A task of a type that nobody serves must not run: a distributed job would silently run
// alone.
package tasktype

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Types that the runs service runs itself, without a pod.
const (
	Sleep = "core-sleep" // takes a duration and has no outputs
	Echo  = "echo"       // its outputs are its inputs
)

// Actor is the type of functions of reusable environments: workers run them, or a pod each where there are no workers.
const Actor = "actor"

// containers are the types whose tasks are one container or pod each. Without a type, a task is one too.
var containers = []string{
	Actor,
	"container",        // containers of other SDKs
	"notebook",         // notebooks that the SDK's plugin runs
	"python",           // functions
	"python-task",      // functions of older SDKs, and PyTorch on one node
	"raw-container",    // containers without an SDK
	"sandboxed-python", // functions that the SDK runs in its sandbox
}

// others are known types that need what this server does not have.
var others = map[string]string{
	"bigquery_query_job_task": "a connector to BigQuery",
	"clustered-task":          "a plugin that creates JobSets",
	"dask":                    "a plugin for the Dask operator",
	"databricks":              "a connector to Databricks",
	"mpi":                     "a plugin for the Kubeflow training operator",
	"pytorch":                 "a plugin for the Kubeflow training operator",
	"ray":                     "a plugin for the KubeRay operator",
	"snowflake":               "a connector to Snowflake",
	"spark":                   "a plugin for the Spark operator",
	"tensorflow":              "a plugin for the Kubeflow training operator",
}

// Set is the types that an installation serves. The zero value serves those that need no configuration.
type Set struct {
	plugins map[string]string
}

// NewSet returns a set with the types that the configuration gives to a plugin, with the plugin's name by type.
func NewSet(plugins map[string]string) Set { return Set{plugins: plugins} }

// Names are the types, in order.
func (s Set) Names() []string {
	names := append([]string{Sleep, Echo}, containers...)
	for name := range maps.Keys(s.plugins) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Refusal says why a task of a type is not served, what would serve it and what is; empty if it is served.
func (s Set) Refusal(taskType string) string {
	if taskType == "" || taskType == Sleep || taskType == Echo || slices.Contains(containers, taskType) || s.plugins[taskType] != "" {
		return ""
	}
	missing, known := others[taskType]
	if !known {
		missing = "a plugin or a connector for it"
	}
	return fmt.Sprintf("no part of this installation serves tasks of type %q: that takes %s. It serves %s. "+
		"To run such a task alone, as one plain pod, list %s=pod in executor.plugins.taskTypes",
		taskType, missing, strings.Join(s.Names(), ", "), taskType)
}

// Note says that a task of a type runs alone because the configuration says so; empty for a type that is meant to. All
// plugins that there are run an attempt as one pod.
func (s Set) Note(taskType string) string {
	plugin := s.plugins[taskType]
	if plugin == "" || slices.Contains(containers, taskType) {
		return ""
	}
	return fmt.Sprintf("a task of type %q runs alone here, in one plain pod, because executor.plugins.taskTypes has %s=%s", taskType, taskType, plugin)
}
