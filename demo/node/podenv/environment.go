package podenv

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Environment is a container's environment. Its zero value is empty.
type Environment struct {
	values map[string]string
}

// Set sets a variable.
func (e *Environment) Set(name, value string) {
	if e.values == nil {
		e.values = map[string]string{}
	}
	e.values[name] = value
}

// Default sets a variable that has no value.
func (e *Environment) Default(name, value string) {
	if _, ok := e.values[name]; !ok {
		e.Set(name, value)
	}
}

// Unset removes a variable.
func (e *Environment) Unset(name string) { delete(e.values, name) }

// Get is the value of a variable.
func (e *Environment) Get(name string) (string, bool) {
	value, ok := e.values[name]
	return value, ok
}

// Map changes every value.
func (e *Environment) Map(change func(value string) string) {
	for name, value := range e.values {
		e.values[name] = change(value)
	}
}

// List is the environment as NAME=value, sorted, so that equal environments are equal.
func (e *Environment) List() []string {
	list := make([]string, 0, len(e.values))
	for _, name := range slices.Sorted(maps.Keys(e.values)) {
		list = append(list, name+"="+e.values[name])
	}
	return list
}

// Resolver has the sources of values.
type Resolver struct {
	Source Source
	Node   Node
}

// Container resolves the environment of a container, and only that: the caller adds variables of the machine.
// Variables may refer to those above them; later ones win, and single ones win over whole ConfigMaps and Secrets.
func (r Resolver) Container(ctx context.Context, pod *corev1.Pod, c *corev1.Container) (*Environment, error) {
	env := &Environment{values: map[string]string{}}
	for _, from := range c.EnvFrom {
		data, err := r.from(ctx, pod.Namespace, from)
		if err != nil {
			return nil, err
		}
		for key, value := range data {
			env.Set(from.Prefix+key, string(value))
		}
	}
	for _, variable := range c.Env {
		if variable.ValueFrom == nil {
			env.Set(variable.Name, Expand(variable.Value, env.Get))
			continue
		}
		value, found, err := r.valueFrom(ctx, pod, c, variable.ValueFrom)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", variable.Name, err)
		}
		if found {
			env.Set(variable.Name, value)
		}
	}
	return env, nil
}

func (r Resolver) from(ctx context.Context, namespace string, from corev1.EnvFromSource) (map[string][]byte, error) {
	switch {
	case from.ConfigMapRef != nil:
		return ConfigData(ctx, r.Source, namespace, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		return SecretData(ctx, r.Source, namespace, from.SecretRef.Name, from.SecretRef.Optional)
	}
	return nil, nil
}

// valueFrom resolves one reference; found is false for an optional one whose target is missing.
func (r Resolver) valueFrom(
	ctx context.Context, pod *corev1.Pod, c *corev1.Container, from *corev1.EnvVarSource,
) (value string, found bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = Field(pod, r.Node, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = Resource(c, r.Node, from.ResourceFieldRef)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		data, err := ConfigData(ctx, r.Source, pod.Namespace, ref.Name, ref.Optional)
		return pick(data, err, &MissingError{Kind: "ConfigMap", Namespace: pod.Namespace, Name: ref.Name, Key: ref.Key}, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		data, err := SecretData(ctx, r.Source, pod.Namespace, ref.Name, ref.Optional)
		return pick(data, err, &MissingError{Kind: "Secret", Namespace: pod.Namespace, Name: ref.Name, Key: ref.Key}, ref.Optional)
	}
	return "", false, fmt.Errorf("the local node does not support this kind of source")
}

func pick(data map[string][]byte, err error, missing *MissingError, mayMiss *bool) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	if value, ok := data[missing.Key]; ok {
		return string(value), true, nil
	}
	return "", false, optional(missing, mayMiss)
}

// CommandLine is the container's command and arguments with variables expanded.
func CommandLine(c *corev1.Container, env *Environment) []string {
	line := make([]string, 0, len(c.Command)+len(c.Args))
	for _, part := range slices.Concat(c.Command, c.Args) {
		line = append(line, Expand(part, env.Get))
	}
	return line
}
