package operated

import (
	"context"
	"fmt"
	"maps"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Draft is the attempt whose object is being built.
type Draft struct {
	*plugin.Attempt
	// Name is the name of the object.
	Name string
	// Companion is the specification of the second object, where the kind has one.
	Companion map[string]any
	// First creates what the object refers to and outlives it, before it; nil for nothing. It may change the object.
	First func(context.Context, *unstructured.Unstructured) error
	// NoQueue means that no queue admits the object: something else of the attempt waits for it.
	NoQueue bool

	kind        Kind
	specs       *podspec.Builder
	labels      map[string]string // of the first role
	annotations map[string]string
}

// Custom reads the plugin's part of the task template into a message. What the message does not know is ignored, so that
// a newer client can still submit. Something else than the message loses the attempt.
func (d *Draft) Custom(into proto.Message) error {
	encoded, err := protojson.Marshal(d.Template.GetCustom())
	if err == nil {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(encoded, into)
	}
	if err != nil {
		return Bad("custom of task type %q: %v", d.Template.GetType(), err)
	}
	return nil
}

// Bad loses the attempt because the task asks for something that cannot be run.
func Bad(format string, values ...any) error {
	return failure.New(failure.BadTaskSpecification, format, values...)
}

// Pods returns the template of the pods of a role, after change has completed it. Change may be nil. It may set what the
// operator needs, but nothing that the policy of the installation decides.
func (d *Draft) Pods(ctx context.Context, role podspec.Role, change func(*corev1.PodTemplateSpec, *corev1.Container)) (map[string]any, error) {
	template, err := d.specs.BuildMember(ctx, d.Attempt, role)
	if err != nil {
		return nil, err
	}
	if d.labels == nil {
		d.labels, d.annotations = maps.Clone(template.Labels), maps.Clone(template.Annotations)
		// The object is found by its owner.
		delete(d.labels, podspec.LabelTaskAction)
		delete(d.labels, podspec.LabelRole)
	}
	own := Primary(template, d.Template)
	if d.kind.Container != "" {
		own.Name = d.kind.Container
	}
	if change != nil {
		change(template, own)
	}
	return Map(template)
}

// Role returns a role of the attempt whose pods differ from the task's.
func (d *Draft) Role(name string, different podspec.Different) podspec.Role {
	return podspec.RoleOf(d.Template, name, different)
}

// Primary returns the container of a task in the template of its pod.
func Primary(template *corev1.PodTemplateSpec, task *core.TaskTemplate) *corev1.Container {
	for i := range template.Spec.Containers {
		if template.Spec.Containers[i].Name == podspec.PrimaryName(task) {
			return &template.Spec.Containers[i]
		}
	}
	return &template.Spec.Containers[0]
}

// Map returns an API object as the content of an unstructured one.
func Map(object any) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert a %T: %w", object, err)
	}
	delete(content, "status")
	if meta, ok := content["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return content, nil
}

// Set gives a container a variable, in place of one with the same name.
func Set(container *corev1.Container, variables ...corev1.EnvVar) {
	for _, variable := range variables {
		kept := container.Env[:0:0]
		for _, old := range container.Env {
			if old.Name != variable.Name {
				kept = append(kept, old)
			}
		}
		container.Env = append(kept, variable)
	}
}

func (p *Plugin) build(ctx context.Context, attempt *plugin.Attempt) (*unstructured.Unstructured, error) {
	key := p.Key(attempt)
	draft := &Draft{Attempt: attempt, Name: key.Name, kind: p.kind, specs: p.specs}
	spec, err := p.kind.Spec(ctx, draft)
	if err != nil {
		return nil, err
	}
	labels := draft.labels
	if draft.NoQueue {
		delete(labels, kueue.LabelQueue)
	} else if queue := p.own.Queues.Of(p.kind.Name, labels, p.own.Queue); queue != "" {
		labels[kueue.LabelQueue] = queue
	}
	object := p.kind.Blank()
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetLabels(labels)
	object.SetAnnotations(draft.annotations)
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(attempt.Task, v1.GroupVersion.WithKind(v1.Kind))})
	object.Object["spec"] = spec
	if p.kind.Companion != nil {
		object.Object[companionField] = draft.Companion
	}
	if draft.First != nil {
		object.Object[firstField] = draft.First
	}
	return object, nil
}
