package operated

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/attemptobject"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Plugin runs attempts as objects of one kind.
type Plugin struct {
	*attemptobject.Keeper[*unstructured.Unstructured] // Advance and Live

	kind   Kind
	config podspec.Config
	own    Config
	deps   plugin.Deps
	clock  clock.Clock
	specs  *podspec.Builder
	pods   *members.Reader
}

var (
	_ plugin.Plugin     = (*Plugin)(nil)
	_ plugin.Watcher    = (*Plugin)(nil)
	_ plugin.Logged     = (*Plugin)(nil)
	_ plugin.Rememberer = (*Plugin)(nil)
)

// Definition describes the plugin of a kind to the executor.
func Definition(kind Kind, pods podspec.Config, own Config) plugin.Definition {
	rights := append(podspec.Rights(), kueue.Right(), plugin.Right{
		Group: kind.Object.Group, Resource: kind.Resource, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
	})
	if second := kind.Companion; second != nil {
		rights = append(rights, plugin.Right{Group: second.Object.Group, Resource: second.Resource, Verbs: []string{"get", "create", "delete"}})
	}
	return plugin.Definition{
		Name: kind.Name, Types: kind.Types, Install: kind.Install,
		New:       func(deps plugin.Deps) (plugin.Plugin, error) { return New(kind, pods, own, deps) },
		Rights:    rights,
		Informers: []plugin.Informer{{Object: kind.Blank(), Strip: strip}},
		Indexes:   []plugin.Index{members.Index()},
	}
}

// New returns the plugin. It refuses a configuration that is not valid.
func New(kind Kind, config podspec.Config, own Config, deps plugin.Deps) (*Plugin, error) {
	specs, err := podspec.New(config, podspec.Deps{Live: deps.Live, Store: deps.Store, Secrets: attemptsecret.New(deps), Clock: deps.Clock})
	if err != nil {
		return nil, err
	}
	p := &Plugin{kind: kind, config: config, own: own, deps: deps, clock: deps.Clock, specs: specs, pods: members.NewReader(config, deps)}
	p.Keeper = attemptobject.New(attemptobject.Kind[*unstructured.Unstructured]{
		Name:       kind.Object.Kind,
		ObjectName: func(attempt *plugin.Attempt) string { return attemptobject.ShortName(attempt, kind.MaxName) },
		Blank:      kind.Blank,
		Build:      p.build,
		First:      p.first,
		Observe:    p.observe,
		DeleteOptions: func(*plugin.Attempt, *unstructured.Unstructured) []client.DeleteOption {
			return []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
		},
	}, deps)
	return p, nil
}

// Name implements plugin.Plugin.
func (p *Plugin) Name() string { return p.kind.Name }

// Watches implements plugin.Watcher.
func (p *Plugin) Watches() []plugin.Watch {
	return []plugin.Watch{{Object: p.kind.Blank()}, members.Watch()}
}

// Logs implements plugin.Logged.
func (p *Plugin) Logs(ctx context.Context, attempt *plugin.Attempt) ([]plugin.Log, error) {
	pods, err := p.pods.Cached(ctx, attempt)
	if err != nil {
		return nil, err
	}
	all, err := p.read(ctx, attempt, pods)
	return members.Logs(all), err
}

// Remove implements plugin.Plugin. It deletes the object, then the pods whose processes still run.
func (p *Plugin) Remove(ctx context.Context, attempt *plugin.Attempt) error {
	pods, err := p.pods.Cached(ctx, attempt)
	if failed := p.Keeper.Remove(ctx, attempt); failed != nil {
		return errors.Join(err, failed) // The object goes first: the operator would replace its pods.
	}
	err = errors.Join(err, p.removeCompanion(ctx, attempt))
	return errors.Join(err, p.pods.Stop(ctx, pods, p.config.StopOptions(podspec.Uploads(attempt.Template))...))
}

// read reads the states of pods, the oldest first.
func (p *Plugin) read(ctx context.Context, attempt *plugin.Attempt, pods []corev1.Pod) ([]members.Member, error) {
	var all []members.Member
	attempt = p.renamed(attempt)
	for i := range pods {
		one, err := p.pods.Of(ctx, attempt, &pods[i])
		if err != nil {
			return nil, err
		}
		one.Primary = p.kind.Primary(&pods[i])
		if why := one.State.Failure; why != nil && why.Reason == failure.PrimaryContainerNotFound && !one.Primary {
			// Pods of other roles may have no such container, as Spark's executors; this one has ended by itself.
			one.State.Failure, one.State.Phase = nil, common.ActionPhase_ACTION_PHASE_SUCCEEDED
		}
		all = append(all, one)
	}
	return all, nil
}

// renamed returns the attempt with the name that the container of the task has in its pods.
func (p *Plugin) renamed(attempt *plugin.Attempt) *plugin.Attempt {
	if p.kind.Container == "" || p.kind.Container == podspec.PrimaryName(attempt.Template) {
		return attempt
	}
	result := *attempt
	result.Template = proto.CloneOf(attempt.Template)
	result.Template.Target = &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{PrimaryContainerName: p.kind.Container}}
	return &result
}
