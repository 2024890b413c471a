package podspec

import (
	"bytes"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// primaryContainer names the container of a task that brings no pod spec.
const primaryContainer = "primary"

// primaryKey is the config entry in which older clients name the primary container.
const primaryKey = "primary_container_name"

// PrimaryName returns the name of the container whose end is the end of the attempt; empty when the template names none.
func PrimaryName(template *core.TaskTemplate) string {
	if template.GetK8SPod() == nil {
		return primaryContainer
	}
	if name := template.GetK8SPod().GetPrimaryContainerName(); name != "" {
		return name
	}
	return template.GetConfig()[primaryKey]
}

// specOf returns the pod spec that the task brings.
func specOf(template *core.TaskTemplate, primary string) (*corev1.PodSpec, error) {
	switch target := template.GetTarget().(type) {
	case *core.TaskTemplate_Container:
		return specOfContainer(target.Container, primary)
	case *core.TaskTemplate_K8SPod:
		return specOfPod(template, primary)
	default:
		return nil, failure.New(failure.BadTaskSpecification, "a task of type %q requires a container or a pod", template.GetType())
	}
}

func specOfContainer(wanted *core.Container, name string) (*corev1.PodSpec, error) {
	if strings.TrimSpace(wanted.GetImage()) == "" {
		return nil, failure.New(failure.BadTaskSpecification, "the container has no image")
	}
	resources, err := resourcesOf(wanted.GetResources())
	if err != nil {
		return nil, err
	}
	container := corev1.Container{
		Name: name, Image: wanted.GetImage(), Command: wanted.GetCommand(), Args: wanted.GetArgs(), Resources: resources,
	}
	for _, pair := range wanted.GetEnv() {
		container.Env = append(container.Env, Variable(pair.GetKey(), pair.GetValue()))
	}
	for _, port := range wanted.GetPorts() {
		container.Ports = append(container.Ports, corev1.ContainerPort{
			Name: port.GetName(), ContainerPort: int32(port.GetContainerPort()), //nolint:gosec // the API server checks it
		})
	}
	return &corev1.PodSpec{Containers: []corev1.Container{container}}, nil
}

// specOfPod decodes the pod spec of the template strictly: an unknown field is an error.
func specOfPod(template *core.TaskTemplate, primary string) (*corev1.PodSpec, error) {
	if primary == "" {
		return nil, failure.New(failure.BadTaskSpecification, "the pod names no primary container")
	}
	encoded, err := json.Marshal(withoutNulls(template.GetK8SPod().GetPodSpec().AsMap()))
	if err != nil {
		return nil, failure.New(failure.BadTaskSpecification, "pod spec: %v", err)
	}
	spec := &corev1.PodSpec{}
	unknown, err := kjson.UnmarshalStrict(bytes.TrimSpace(encoded), spec)
	if err == nil && len(unknown) > 0 {
		err = unknown[0]
	}
	if err != nil {
		return nil, failure.New(failure.BadTaskSpecification, "pod spec: %v", err)
	}
	if find(spec, primary) == nil {
		return nil, failure.New(failure.PrimaryContainerNotFound, "%q", primary)
	}
	return spec, nil
}

func find(spec *corev1.PodSpec, name string) *corev1.Container {
	for i := range spec.Containers {
		if spec.Containers[i].Name == name {
			return &spec.Containers[i]
		}
	}
	return nil
}

// withoutNulls drops fields that clients send as null.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if inner == nil {
				delete(value, name)
			} else {
				value[name] = withoutNulls(inner)
			}
		}
	case []any:
		for i := range value {
			value[i] = withoutNulls(value[i])
		}
	}
	return value
}
