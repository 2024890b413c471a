package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/pods/attemptobject"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podsecret"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

// Name selects this plugin in the configuration and in tasks.
const Name = "pod"

// Definition describes the plugin to the executor. Pods need no informer of their own: the executor always has one.
func Definition(config podspec.Config) plugin.Definition {
	return plugin.Definition{
		Name:   Name,
		Rights: append(podspec.Rights(), plugin.Right{Resource: "pods", Verbs: []string{"create"}}),
		New:    func(deps plugin.Deps) (plugin.Plugin, error) { return New(config, deps) },
	}
}

// Plugin runs attempts as pods.
type Plugin struct {
	*attemptobject.Keeper[*corev1.Pod] // Advance, Remove and Live

	config podspec.Config
	specs  *podspec.Builder
	states *podstatus.Reader

	secrets podsecret.Getter
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
	p := &Plugin{config: config, specs: specs, states: podstatus.NewReader(config, deps.Clock), secrets: podsecret.From(deps.Live)}
	p.Keeper = attemptobject.New(attemptobject.Kind[*corev1.Pod]{
		Name:          Name,
		ObjectName:    func(attempt *plugin.Attempt) string { return v1.PodName(attempt.Task.Name, attempt.Number) },
		Blank:         func() *corev1.Pod { return &corev1.Pod{} },
		Build:         p.build,
		Observe:       p.observe,
		DeleteOptions: p.deleteOptions,
	}, deps)
	return p, nil
}

// Name implements plugin.Plugin.
func (p *Plugin) Name() string { return Name }

// Watches implements plugin.Watcher.
func (p *Plugin) Watches() []plugin.Watch { return []plugin.Watch{{Object: &corev1.Pod{}}} }

// Logs implements plugin.Logged.
func (p *Plugin) Logs(ctx context.Context, attempt *plugin.Attempt) ([]plugin.Log, error) {
	pod, found, err := p.Find(ctx, attempt)
	if err != nil || !found {
		return nil, err
	}
	return podstatus.Logs(pod), nil
}

// build puts the attempt's template into a pod of its own.
func (p *Plugin) build(ctx context.Context, attempt *plugin.Attempt) (*corev1.Pod, error) {
	template, err := p.specs.Build(ctx, attempt)
	if err != nil {
		return nil, err
	}
	key := p.Key(attempt)
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: template.ObjectMeta,
		Spec:       template.Spec,
	}
	pod.Namespace, pod.Name = key.Namespace, key.Name
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(attempt.Task, v1.GroupVersion.WithKind(v1.Kind))}
	return pod, nil
}

func (p *Plugin) observe(ctx context.Context, attempt *plugin.Attempt, pod *corev1.Pod) (plugin.State, error) {
	pod, err := podsecret.Clean(ctx, p.secrets, pod)
	if err != nil {
		return plugin.State{}, err
	}
	return p.states.Observe(attempt, pod), nil
}

func (p *Plugin) deleteOptions(attempt *plugin.Attempt, pod *corev1.Pod) []client.DeleteOption {
	return p.config.StopOptions(podspec.Uploads(attempt.Template) || podstatus.IsSidecar(pod, podspec.UploaderName))
}
