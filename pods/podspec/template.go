package podspec

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
)

// podTemplate returns the PodTemplate that a pod is based on; nil for none. The task names it, else the run,
// else the configuration. It is read from the namespace of the pod, else from the configured one.
func (b *Builder) podTemplate(ctx context.Context, subject *Subject) (*corev1.PodTemplateSpec, error) {
	name := subject.Declared.GetMetadata().GetPodTemplateName()
	if name == "" && subject.Defaults != nil {
		name = subject.Defaults.PodTemplate
	}
	if name == "" {
		name = b.config.DefaultPodTemplate
	}
	if name == "" {
		return nil, nil //nolint:nilnil // none is named
	}
	places := []string{subject.Namespace}
	if shared := b.config.PodTemplateNamespace; shared != "" && shared != subject.Namespace {
		places = append(places, shared)
	}
	for _, namespace := range places {
		found, err := b.readTemplate(ctx, types.NamespacedName{Namespace: namespace, Name: name})
		switch {
		case err == nil:
			return found, nil
		case apierrors.IsForbidden(err):
			return nil, failure.New(failure.BadTaskSpecification,
				"no permission to read pod template %q in namespace %s; allow the executor to get podtemplates there: %v", name, namespace, err)
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("read pod template %s/%s: %w", namespace, name, err)
		}
	}
	return nil, failure.New(failure.BadTaskSpecification, "there is no pod template %q in %s", name, inWords(places))
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
	// maxTemplates is how many are cached; then the cache starts over.
	maxTemplates = 256
)

// templates caches pod templates for a moment, since every pod of a fan-out needs the same one. An informer would need the
// right to list them and would hold all of them in memory.
type templates struct {
	mu    sync.Mutex
	known map[types.NamespacedName]cachedTemplate // GUARDED_BY(mu)
}

type cachedTemplate struct {
	template *corev1.PodTemplateSpec // shared and read only
	at       time.Time
}

func (b *Builder) readTemplate(ctx context.Context, key types.NamespacedName) (*corev1.PodTemplateSpec, error) {
	now := b.deps.Clock.Now()
	b.templates.mu.Lock()
	found, known := b.templates.known[key]
	b.templates.mu.Unlock()
	if age := now.Sub(found.at); known && age >= 0 && age < templateAge {
		return found.template, nil
	}
	read := &corev1.PodTemplate{}
	if err := b.deps.Live.Get(ctx, key, read); err != nil {
		return nil, err
	}
	b.templates.mu.Lock()
	defer b.templates.mu.Unlock()
	if b.templates.known == nil || len(b.templates.known) >= maxTemplates {
		b.templates.known = map[types.NamespacedName]cachedTemplate{}
	}
	b.templates.known[key] = cachedTemplate{&read.Template, now}
	return &read.Template, nil
}

// containerNames returns the names of all containers of a pod.
func containerNames(spec *corev1.PodSpec) []string {
	var names []string
	eachContainer(spec, func(container *corev1.Container) { names = append(names, container.Name) })
	return slices.Clip(names)
}
