package job

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/attemptobject"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Name selects this plugin in the configuration and in tasks.
const Name = "job"

// Definition describes the plugin to the executor.
func Definition(pods podspec.Config, own Config) plugin.Definition {
	return plugin.Definition{
		Name: Name,
		New:  func(deps plugin.Deps) (plugin.Plugin, error) { return New(pods, own, deps) },
		Rights: append(podspec.Rights(), kueue.Right(), plugin.Right{
			Group: batchv1.GroupName, Resource: "jobs", Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
		}),
		Informers: []plugin.Informer{{Object: &batchv1.Job{}, Strip: strip}},
		Indexes:   []plugin.Index{members.Index()},
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

// Plugin runs attempts as Jobs.
type Plugin struct {
	*attemptobject.Keeper[*batchv1.Job] // Advance and Live

	config podspec.Config
	own    Config
	clock  clock.Clock
	live   client.Reader
	specs  *podspec.Builder
	pods   *members.Reader
}

var (
	_ plugin.Plugin     = (*Plugin)(nil)
	_ plugin.Watcher    = (*Plugin)(nil)
	_ plugin.Logged     = (*Plugin)(nil)
	_ plugin.Rememberer = (*Plugin)(nil)
)

// New returns the plugin. It refuses a configuration that is not valid.
func New(config podspec.Config, own Config, deps plugin.Deps) (*Plugin, error) {
	specs, err := podspec.New(config, podspec.Deps{Live: deps.Live, Store: deps.Store, Secrets: attemptsecret.New(deps), Clock: deps.Clock})
	if err != nil {
		return nil, err
	}
	p := &Plugin{config: config, own: own, clock: deps.Clock, live: deps.Live, specs: specs, pods: members.NewReader(config, deps)}
	p.Keeper = attemptobject.New(attemptobject.Kind[*batchv1.Job]{
		Name: Name,
		// The name of a Job is the value of a label of its pods.
		ObjectName: func(attempt *plugin.Attempt) string {
			return attemptobject.ShortName(attempt, validation.LabelValueMaxLength)
		},
		Blank:   func() *batchv1.Job { return &batchv1.Job{} },
		Build:   p.build,
		Observe: p.observe,
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
	return []plugin.Watch{{Object: &batchv1.Job{}}, members.Watch()}
}

// Logs implements plugin.Logged.
func (p *Plugin) Logs(ctx context.Context, attempt *plugin.Attempt) ([]plugin.Log, error) {
	job, found, err := p.Find(ctx, attempt)
	if err != nil || !found {
		return nil, err
	}
	pods, err := p.pods.Cached(ctx, attempt)
	if err != nil {
		return nil, err
	}
	pod := latest(pods, job)
	if pod == nil {
		return nil, nil
	}
	return members.Logs([]members.Member{{Pod: pod, Primary: true}}), nil
}
