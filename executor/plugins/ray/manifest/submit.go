package manifest

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// submitProgram submits the task to a shared cluster with the variables of its attempt, and shows what it prints.
//
//go:embed submit.py
var submitProgram string

// startProgram runs the task on the head.
//
//go:embed start.py
var startProgram string

// JobInShared returns the specification of a RayJob that runs in a shared cluster. The caller selects the cluster.
func JobInShared(ctx context.Context, draft *operated.Draft, wanted *plugins.RayJob) (map[string]any, error) {
	env, err := runtimeEnv(wanted)
	if err != nil {
		return nil, err
	}
	submits, line, err := submitsShared(ctx, draft, env)
	if err != nil {
		return nil, err
	}
	return jobSpec(line, submits), nil
}

// submitsShared returns the pods that submit a task to a shared cluster, and the task's command for people. The pods of the cluster
// know nothing of an attempt: the pod that submits has its variables, secrets and token, and gives them to the job.
func submitsShared(ctx context.Context, draft *operated.Draft, env string) (pods map[string]any, line string, err error) {
	settings := []byte("{}")
	if env != "" {
		if settings, err = yaml.YAMLToJSON([]byte(env)); err != nil {
			return nil, "", operated.Bad("runtime_env_yaml: %v", err)
		}
	}
	var inner map[string]any
	if err := json.Unmarshal(settings, &inner); err != nil {
		return nil, "", operated.Bad("runtime_env_yaml: want a mapping: %v", err)
	}
	pods, err = draft.Pods(ctx, draft.Role(Submitter, podspec.Different{}), func(_ *corev1.PodTemplateSpec, own *corev1.Container) {
		words := append(append([]string{}, own.Command...), own.Args...)
		line = command(words)
		names, _ := json.Marshal(variables(own.Env)) //nolint:errchkjson // texts
		own.Command = []string{"python3", "-c", escaped(submitProgram), escaped(startProgram), escaped(string(names)), escaped(string(settings))}
		own.Args = words
		own.Resources = submitterResources()
	})
	return pods, line, err
}

// escaped is a word that Kubernetes passes on as it is.
func escaped(word string) string { return strings.ReplaceAll(word, "$", "$$") }

// variables are the names of those that a job gets: not those that describe the pod which submits it.
func variables(env []corev1.EnvVar) []string {
	names := []string{}
	for i := range env {
		if from := env[i].ValueFrom; from == nil || (from.FieldRef == nil && from.ResourceFieldRef == nil) {
			names = append(names, env[i].Name)
		}
	}
	return names
}
