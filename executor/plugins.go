package executor

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugins/dask"
	"github.com/flyte-binary/flyte-binary/executor/plugins/job"
	"github.com/flyte-binary/flyte-binary/executor/plugins/jobset"
	"github.com/flyte-binary/flyte-binary/executor/plugins/kubeflow"
	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/executor/plugins/pod"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray"
	"github.com/flyte-binary/flyte-binary/executor/plugins/spark"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// available describes every plugin of this program. A new plugin is added here, with its settings in Plugins.
func available(config Config) []plugin.Definition {
	operators, jobs, queues := config.Plugins.Operators, config.Plugins.Job, kueue.Queues(config.Plugins.Queues)
	operators.Queues, jobs.Queues = queues, queues
	return []plugin.Definition{
		pod.Definition(config.Pod), job.Definition(config.Pod, jobs),
		dask.Definition(config.Pod, operators), jobset.Definition(config.Pod, operators), kubeflow.MPI(config.Pod, operators),
		kubeflow.PyTorch(config.Pod, operators), kubeflow.TensorFlow(config.Pod, operators), ray.Definition(config.Pod, operators),
		spark.Definition(config.Pod, operators), kubeflow.TrainJob(config.Pod, operators),
	}
}

// Plugins says which plugins run attempts, and of which tasks.
type Plugins struct {
	// Enabled are the plugins of this executor: pod, job, and those of operators, which are dask,
	// jobset, mpi, pytorch, ray, spark, tensorflow and trainjob. Each needs rights on its kinds of objects. Default pod.
	Enabled []string `config:"enabled"`
	// Default is the plugin of all task types that are one container and that TaskTypes does not list. Default pod.
	Default string `config:"default"`
	// TaskTypes are plugins of single task types, as a list of TYPE=PLUGIN. A type that needs more than a container,
	// such as spark, then runs alone in one pod, and its actions say so; where nothing serves such a type, its tasks are
	// refused. Processes with the target api need the same list. A task that names a plugin in its own configuration
	// gets that one.
	TaskTypes []string `config:"taskTypes"`
	// Queues are the LocalQueues of Kueue that admit the objects of plugins, as a list of KEY=LOCALQUEUE. A KEY is
	// PROJECT/DOMAIN, PROJECT or plugin:NAME, and the first of these that applies wins, in this order; then come
	// job.queue and operators.queue. A label kueue.x-k8s.io/queue-name of the run or the task precedes all.
	Queues []string `config:"queues"`
	// Probe is how often the executor checks whether the cluster serves the types of the enabled plugins. A plugin whose
	// types are missing does not run, and its tasks wait. Default 30 s.
	Probe time.Duration `config:"probe"`
	// Job configures the plugin job.
	Job job.Config `config:"job"`
	// Operators configures the plugins of all operators.
	Operators operated.Config `config:"operators"`
}

// DefaultPlugins runs every task as a pod.
func DefaultPlugins() Plugins {
	return Plugins{Enabled: []string{pod.Name}, Default: pod.Name, Probe: 30 * time.Second, Operators: operated.DefaultConfig()}
}

// Validate lists the fields that are wrong.
func (c Plugins) Validate() error {
	var found invalid.Fields
	var known []string
	for _, definition := range available(Config{}) {
		known = append(known, definition.Name)
	}
	for i, name := range c.Enabled {
		found.If(!slices.Contains(known, name), "enabled[%d]: there is no plugin %q; want %s", i, name, strings.Join(known, " or "))
		found.If(slices.Contains(c.Enabled[:i], name), "enabled[%d]: %q is listed twice", i, name)
	}
	found.If(!slices.Contains(c.Enabled, c.Default), "default: plugin %q is not enabled", c.Default)
	seen := map[string]bool{}
	for i, pair := range c.TaskTypes {
		taskType, name, complete := strings.Cut(pair, "=")
		found.If(!complete || taskType == "", "taskTypes[%d]: %q is not TYPE=PLUGIN", i, pair)
		found.If(!slices.Contains(c.Enabled, name), "taskTypes[%d]: plugin %q of task type %q is not enabled", i, name, taskType)
		found.If(seen[taskType], "taskTypes[%d]: task type %q is listed twice", i, taskType)
		seen[taskType] = true
	}
	found.Section("queues", kueue.Queues(c.Queues).Validate(known))
	found.Section("job", c.Job.Validate())
	found.Section("operators", c.Operators.Validate())
	found.If(c.Probe <= 0, "probe: must be positive, got %s", c.Probe)
	return found.Err()
}

// definitions returns the enabled plugins, in the order of the configuration.
func (c Config) definitions() []plugin.Definition {
	var result []plugin.Definition
	for _, name := range c.Plugins.Enabled {
		for _, definition := range available(c) {
			if definition.Name == name {
				result = append(result, definition)
			}
		}
	}
	return result
}

// Served are the task types that executors with this configuration run.
func (c Plugins) Served() tasktype.Set {
	return tasktype.NewSet(c.byType(), made(Config{Plugins: c}.definitions()))
}

// made is the name of the plugin of each type that a plugin is made for. Where several are, the first one gets it.
func made(definitions []plugin.Definition) map[string]string {
	byType := map[string]string{}
	for _, definition := range definitions {
		for _, taskType := range definition.Types {
			if byType[taskType] == "" {
				byType[taskType] = definition.Name
			}
		}
	}
	return byType
}

// byType is the name of the plugin of each type in TaskTypes.
func (c Plugins) byType() map[string]string {
	byType := map[string]string{}
	for _, pair := range c.TaskTypes {
		taskType, name, _ := strings.Cut(pair, "=")
		byType[taskType] = name
	}
	return byType
}

// registry creates the plugins. Those whose types the cluster lacks are replaced by plugins that say so.
func (c Plugins) registry(all, definitions []plugin.Definition, missing []Absence, deps plugin.Deps) (*plugin.Registry, error) {
	routes := plugin.Routes{Default: c.Default, TaskTypes: c.byType(), Made: made(all)}
	var plugins []plugin.Plugin
	for _, one := range missing {
		plugins = append(plugins, plugin.Absent(one.Plugin, one.String(), one.gone))
	}
	for _, definition := range definitions {
		created, err := definition.New(deps)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: %w", definition.Name, err)
		}
		plugins = append(plugins, created)
	}
	return plugin.NewRegistry(routes, plugins...)
}

// newScheme returns a scheme of the built-in types, TaskActions and the types of plugins.
func newScheme(definitions []plugin.Definition) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	for _, definition := range definitions {
		if definition.AddToScheme == nil {
			continue
		}
		if err := definition.AddToScheme(scheme); err != nil {
			return nil, fmt.Errorf("plugin %s: %w", definition.Name, err)
		}
	}
	return scheme, nil
}

// informersOf returns the informers of plugins. A type has one informer, so two plugins cannot strip it differently.
func informersOf(definitions []plugin.Definition, scheme *runtime.Scheme) ([]plugin.Informer, error) {
	owners := map[schema.GroupVersionKind]string{
		v1.GroupVersion.WithKind(v1.Kind): "the executor", corev1.SchemeGroupVersion.WithKind("Pod"): "the executor",
	}
	var result []plugin.Informer
	for _, definition := range definitions {
		for _, informer := range definition.Informers {
			kind, err := apiutil.GVKForObject(informer.Object, scheme)
			if err != nil {
				return nil, fmt.Errorf("plugin %s: informer: %w", definition.Name, err)
			}
			if owner, taken := owners[kind]; taken {
				return nil, fmt.Errorf("plugin %s: %s already has the informer of %s", definition.Name, owner, kind.Kind)
			}
			owners[kind] = "plugin " + definition.Name
			result = append(result, informer)
		}
	}
	return result, nil
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer, definitions []plugin.Definition) error {
	type key struct {
		kind  reflect.Type
		field string
	}
	added := map[key]bool{} // Plugins may share an index, such as that of members.
	for _, definition := range definitions {
		for _, index := range definition.Indexes {
			one := key{reflect.TypeOf(index.Object), index.Field}
			if added[one] {
				continue
			}
			added[one] = true
			if err := indexer.IndexField(ctx, index.Object, index.Field, index.Values); err != nil {
				return fmt.Errorf("plugin %s: index %s: %w", definition.Name, index.Field, err)
			}
		}
	}
	return nil
}
