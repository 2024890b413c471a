package kuberule_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/kube/kuberule"
)

func envs(pairs ...string) *task.Envs {
	result := &task.Envs{}
	for i := 0; i < len(pairs); i += 2 {
		result.Values = append(result.Values, &core.KeyValuePair{Key: pairs[i], Value: pairs[i+1]})
	}
	return result
}

func labelled(key, value string) *task.RunSpec {
	return &task.RunSpec{Labels: &task.Labels{Values: map[string]string{key: value}}}
}

func annotated(key, value string) *task.RunSpec {
	return &task.RunSpec{Annotations: &task.Annotations{Values: map[string]string{key: value}}}
}

func TestRunSpecsThatNoPodCouldHave(t *testing.T) {
	account := &core.SecurityContext{RunAs: &core.Identity{K8SServiceAccount: "Not A Name"}}
	for _, tc := range []struct {
		spec        *task.RunSpec
		path, words string
	}{
		{&task.RunSpec{Envs: envs("A", "1", "", "x")}, "envs.values[1].key", "is not a valid environment variable name"},
		{&task.RunSpec{Envs: envs("a=b", "x")}, "envs.values[0].key", `"a=b"`},
		{&task.RunSpec{Envs: envs("é", "x")}, "envs.values[0].key", `"é"`},
		{labelled("not a key", "v"), "labels.values", `"not a key" is not a valid label key`},
		{labelled("team", "not a value"), `labels.values["team"]`, `"not a value" is not a valid label value`},
		{labelled("team", strings.Repeat("v", 64)), `labels.values["team"]`, "up to 63"},
		{labelled("flyte.org/run", "x"), `labels.values["flyte.org/run"]`, "belong to the platform"},
		{annotated("not a key", "v"), "annotations.values", `"not a key" is not a valid annotation key`},
		{annotated("flyte.org/mine", "v"), `annotations.values["flyte.org/mine"]`, "belong to the platform"},
		{&task.RunSpec{SecurityContext: account}, "security_context.run_as.k8s_service_account", "is not a valid Kubernetes object name"},
		{&task.RunSpec{DefaultSettings: &task.DefaultSettings{PodTemplateName: "A b"}}, "default_settings.pod_template_name", "is not a valid Kubernetes object name"},
		{&task.RunSpec{Envs: envs("1A", "x", "with space", "$$", "A", strings.Repeat("x", 1000))}, "", ""},
		{labelled("example.com/team", "ML_1.x"), "", ""},
		{labelled("flyte.org/priority", "5"), "", ""},
		{labelled("flyte.org/priority", "-7"), "", ""},
		{annotated("note", "any text,\nin lines"), "", ""},
		{annotated("flyte.org/trigger-catch-up", "none"), "", ""},
		{annotated("flyte.org/mirror-limits-request", "true"), "", ""},
		{nil, "", ""},
	} {
		path, words := kuberule.Run(tc.spec)
		require.Equal(t, tc.path, path, "%v", tc.spec)
		require.Contains(t, words, tc.words)
		require.Equal(t, tc.words == "", words == "", words)
	}
}

func container(change func(*core.Container)) *core.TaskTemplate {
	c := &core.Container{Image: "x"}
	change(c)
	return &core.TaskTemplate{Target: &core.TaskTemplate_Container{Container: c}}
}

func pod(t *testing.T, spec map[string]any) *core.TaskTemplate {
	t.Helper()
	encoded, err := structpb.NewStruct(spec)
	require.NoError(t, err)
	return &core.TaskTemplate{Target: &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{PodSpec: encoded}}}
}

func TestTasksThatNoPodCouldBe(t *testing.T) {
	type object = map[string]any
	named := func(names ...string) []any {
		var list []any
		for _, name := range names {
			list = append(list, object{"name": name})
		}
		return list
	}
	metadata := &core.K8SObjectMetadata{Labels: map[string]string{"team": "not a value"}}
	for _, tc := range []struct {
		template    *core.TaskTemplate
		path, words string
	}{
		{container(func(c *core.Container) { c.Env = envs("A", "1", "é", "x").GetValues() }), "container.env[1].key", `"é"`},
		{container(func(c *core.Container) { c.Ports = []*core.ContainerPort{{ContainerPort: 70000}} }), "container.ports[0].container_port", "got 70000"},
		{container(func(c *core.Container) {
			c.Ports = []*core.ContainerPort{{ContainerPort: 80, Name: "too-long-for-a-port"}}
		}), "container.ports[0].name", "15"},
		{&core.TaskTemplate{Metadata: &core.TaskMetadata{Metadata: metadata}}, `metadata.metadata.labels["team"]`, "is not a valid label value"},
		{&core.TaskTemplate{Target: &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{Metadata: metadata}}}, `k8s_pod.metadata.labels["team"]`, "is not a valid label value"},
		{&core.TaskTemplate{Metadata: &core.TaskMetadata{PodTemplateName: "A b"}}, "metadata.pod_template_name", "is not a valid Kubernetes object name"},
		{&core.TaskTemplate{SecurityContext: &core.SecurityContext{Secrets: []*core.Secret{{Key: "k", EnvVar: "a=b"}}}}, "security_context.secrets[0].env_var", `"a=b"`},
		{&core.TaskTemplate{ExtendedResources: &core.ExtendedResources{SharedMemory: &core.SharedMemory{MountName: "A b"}}}, "extended_resources.shared_memory.mount_name", "is not a valid volume name"},
		{pod(t, object{"containers": named("main", "Not_A_Label")}), "k8s_pod.pod_spec.containers[1].name", "is not a valid container name"},
		{pod(t, object{"initContainers": named("main"), "containers": named("main")}), "k8s_pod.pod_spec.containers[0].name", "another container"},
		{pod(t, object{"volumes": named("a", strings.Repeat("v", 64))}), "k8s_pod.pod_spec.volumes[1].name", "is not a valid volume name"},
		{pod(t, object{"volumes": named("a", "a")}), "k8s_pod.pod_spec.volumes[1].name", "another volume"},
		{pod(t, object{"containers": []any{object{"name": "m", "env": named("A", "a=b")}}}), "k8s_pod.pod_spec.containers[0].env[1].name", `"a=b"`},
		{pod(t, object{"containers": []any{object{"name": "m", "ports": named("--")}}}), "k8s_pod.pod_spec.containers[0].ports[0].name", "is not a valid port name"},
		{pod(t, object{"containers": named("main", "side"), "volumes": named("main")}), "", ""},
		{container(func(c *core.Container) { c.Env = envs("1A", "x").GetValues() }), "", ""},
		{nil, "", ""},
	} {
		path, words := kuberule.Task(tc.template)
		require.Equal(t, tc.path, path, "%v", tc.template)
		require.Contains(t, words, tc.words)
		require.Equal(t, tc.words == "", words == "", words)
	}
}

func TestObjectsThatAreTooLarge(t *testing.T) {
	of := func(size int) *core.TaskTemplate {
		return container(func(c *core.Container) { c.Env = envs("A", strings.Repeat("x", size)).GetValues() })
	}
	annotatedTask := &core.TaskTemplate{Metadata: &core.TaskMetadata{Metadata: &core.K8SObjectMetadata{Annotations: map[string]string{"a": strings.Repeat("x", 200<<10)}}}}
	dollars := container(func(c *core.Container) { c.Env = envs("A", strings.Repeat("$", 900<<10)).GetValues() })
	for name, tc := range map[string]struct {
		template *core.TaskTemplate
		run      *task.RunSpec
		path     string
	}{
		"annotations of a run":           {nil, annotated("a", strings.Repeat("x", 262_144)), "run_spec.annotations"},
		"annotations of both":            {annotatedTask, annotated("a", strings.Repeat("x", 100<<10)), "task_template.metadata.metadata.annotations"},
		"a large template":               {of(1200 << 10), nil, "task_template"},
		"large variables of a run":       {of(10), &task.RunSpec{Envs: envs("A", strings.Repeat("x", 1600<<10))}, "run_spec.envs"},
		"control characters of a run":    {of(10), &task.RunSpec{Envs: envs("A", strings.Repeat("\x01", 300<<10))}, "run_spec.envs"},
		"dollars, which are doubled":     {dollars, nil, "task_template"},
		"what fits: annotations":         {annotatedTask, annotated("a", strings.Repeat("x", 50<<10)), ""},
		"what fits: a template":          {of(1100 << 10), annotated("a", "b"), ""},
		"what fits: variables of a run":  {of(10), &task.RunSpec{Envs: envs("A", strings.Repeat("x", 1400<<10))}, ""},
		"what fits: nothing is declared": {nil, nil, ""},
	} {
		path, words := kuberule.Sizes(tc.template, proto.Size(tc.template), tc.run)
		require.Equal(t, tc.path, path, "%s: %s", name, words)
	}
}
