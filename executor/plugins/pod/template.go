package pod

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
)

// podTemplate is the pod of the PodTemplate that the attempt's pod is based on; nil when there is to be none. The task names
// it, else the run, else the configuration. It is looked for where the pod will be, then in the configured namespace.
func (p *Plugin) podTemplate(ctx context.Context, attempt *plugin.Attempt) (*corev1.PodTemplateSpec, *failure.Failure, error) {
	name := attempt.Template.GetMetadata().GetPodTemplateName()
	if name == "" && attempt.Task.Spec.Defaults != nil {
		name = attempt.Task.Spec.Defaults.PodTemplate
	}
	if name == "" {
		name = p.config.DefaultPodTemplate
	}
	if name == "" {
		return nil, nil, nil
	}
	places := []string{attempt.Task.Namespace}
	if shared := p.config.PodTemplateNamespace; shared != "" && shared != attempt.Task.Namespace {
		places = append(places, shared)
	}
	for _, namespace := range places {
		found, err := p.readTemplate(ctx, types.NamespacedName{Namespace: namespace, Name: name})
		switch {
		case err == nil:
			return found, nil, nil
		case apierrors.IsForbidden(err):
			return nil, failure.New(failure.BadTaskSpecification,
				"the pod template %q in namespace %s may not be read; the executor needs the right to get podtemplates there: %v", name, namespace, err), nil
		case !apierrors.IsNotFound(err):
			return nil, nil, fmt.Errorf("read pod template %s/%s: %w", namespace, name, err)
		}
	}
	return nil, failure.New(failure.BadTaskSpecification, "there is no pod template %q in %s", name, inWords(places)), nil
}

func inWords(namespaces []string) string {
	if len(namespaces) == 1 {
		return "namespace " + namespaces[0]
	}
	return "the namespaces " + namespaces[0] + " and " + namespaces[1]
}

const (
	// templateAge is how long a changed pod template may go unnoticed.
	templateAge = 10 * time.Second
	// maxTemplates bounds how many are remembered.
	maxTemplates = 256
)

// templates remembers pod templates for a moment, since every pod of a fan-out asks. An informer would need the right to
// list them, and would hold all that there are.
type templates struct {
	mu    sync.Mutex
	known map[types.NamespacedName]rememberedTemplate // GUARDED_BY(mu)
}

type rememberedTemplate struct {
	template *corev1.PodTemplateSpec // shared and read only
	at       time.Time
}

func (p *Plugin) readTemplate(ctx context.Context, key types.NamespacedName) (*corev1.PodTemplateSpec, error) {
	now := p.deps.Clock.Now()
	p.templates.mu.Lock()
	found, known := p.templates.known[key]
	p.templates.mu.Unlock()
	if age := now.Sub(found.at); known && age >= 0 && age < templateAge {
		return found.template, nil
	}
	read := &corev1.PodTemplate{}
	if err := p.deps.Live.Get(ctx, key, read); err != nil {
		return nil, err
	}
	p.templates.mu.Lock()
	defer p.templates.mu.Unlock()
	if p.templates.known == nil || len(p.templates.known) >= maxTemplates {
		p.templates.known = map[types.NamespacedName]rememberedTemplate{}
	}
	p.templates.known[key] = rememberedTemplate{&read.Template, now}
	return &read.Template, nil
}

// containerNames are the names of all containers of a pod.
func containerNames(spec *corev1.PodSpec) []string {
	var names []string
	eachContainer(spec, func(container *corev1.Container) { names = append(names, container.Name) })
	return slices.Clip(names)
}
