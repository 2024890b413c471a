package job

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/pods/attemptobject"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

// Name selects this plugin in the configuration and in tasks.
const Name = "job"

// labelTaskAction names the TaskAction on the pods of Jobs, whose owner is the Job.
const labelTaskAction = v1.Group + "/task-action"

// jobIndex lists pods by the name of the Job that owns them.
const jobIndex = "flyte.job"

// Definition describes the plugin to the executor.
func Definition(config podspec.Config) plugin.Definition {
	return plugin.Definition{
		Name:      Name,
		New:       func(deps plugin.Deps) (plugin.Plugin, error) { return New(config, deps) },
		Informers: []plugin.Informer{{Object: &batchv1.Job{}, Strip: strip}},
		Indexes:   []plugin.Index{{Object: &corev1.Pod{}, Field: jobIndex, Values: jobOf}},
	}
}

// strip reduces a cached Job to what its state is read from.
func strip(object any) (any, error) {
	job, ok := object.(*batchv1.Job)
	if !ok {
		return object, nil
	}
	job.ManagedFields, job.Annotations = nil, nil
	job.Spec = batchv1.JobSpec{Suspend: job.Spec.Suspend}
	return job, nil
}

// jobOf returns the name of the Job that owns a pod.
func jobOf(pod client.Object) []string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" || owner.APIVersion != batchv1.SchemeGroupVersion.String() {
		return nil
	}
	return []string{owner.Name}
}

// Plugin runs attempts as Jobs.
type Plugin struct {
	*attemptobject.Keeper[*batchv1.Job] // Advance and Live

	config podspec.Config
	deps   plugin.Deps
	specs  *podspec.Builder
	states *podstatus.Reader
}

var (
	_ plugin.Plugin     = (*Plugin)(nil)
	_ plugin.Watcher    = (*Plugin)(nil)
	_ plugin.Logged     = (*Plugin)(nil)
	_ plugin.Rememberer = (*Plugin)(nil)
)

// New returns the plugin. It refuses a configuration that is not valid.
func New(config podspec.Config, deps plugin.Deps) (*Plugin, error) {
	specs, err := podspec.New(config, podspec.Deps{Live: deps.Live, Store: deps.Store, Secrets: attemptsecret.New(deps), Clock: deps.Clock})
	if err != nil {
		return nil, err
	}
	p := &Plugin{config: config, deps: deps, specs: specs, states: podstatus.NewReader(config, deps.Clock)}
	p.Keeper = attemptobject.New(attemptobject.Kind[*batchv1.Job]{
		Name:       Name,
		ObjectName: func(attempt *plugin.Attempt) string { return jobName(attempt.Task.Name, attempt.Number) },
		Blank:      func() *batchv1.Job { return &batchv1.Job{} },
		Build:      p.build,
		Observe:    p.observe,
		DeleteOptions: func(*plugin.Attempt, *batchv1.Job) []client.DeleteOption {
			// The default for Jobs would leave their pods behind.
			return []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
		},
	}, deps)
	return p, nil
}

// Name implements plugin.Plugin.
func (p *Plugin) Name() string { return Name }

// Watches implements plugin.Watcher.
func (p *Plugin) Watches() []plugin.Watch {
	return []plugin.Watch{{Object: &batchv1.Job{}}, {Object: &corev1.Pod{}, TaskAction: taskActionOf}}
}

// taskActionOf returns the TaskAction of a Job's pod.
func taskActionOf(pod client.Object) (types.NamespacedName, bool) {
	name := pod.GetLabels()[labelTaskAction]
	return types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}, name != ""
}

// Logs implements plugin.Logged.
func (p *Plugin) Logs(ctx context.Context, attempt *plugin.Attempt) ([]plugin.Log, error) {
	job, found, err := p.Find(ctx, attempt)
	if err != nil || !found {
		return nil, err
	}
	pod, err := p.cachedPod(ctx, job)
	if err != nil || pod == nil {
		return nil, err
	}
	return podstatus.Logs(pod), nil
}
