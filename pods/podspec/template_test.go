package podspec_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// template puts a PodTemplate from testdata into the cluster.
func (b *bench) template(t *testing.T, namespace, name, file string) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	read := &corev1.PodTemplate{}
	require.NoError(t, yaml.UnmarshalStrict(body, read))
	if b.templates.All == nil {
		b.templates.All = map[string]*corev1.PodTemplate{}
	}
	b.templates.All[namespace+"/"+name] = read
}

// golden compares a pod with a file of testdata. GOLDEN=write writes the file.
func golden(t *testing.T, file string, made *corev1.PodTemplateSpec) {
	t.Helper()
	body, err := yaml.Marshal(map[string]any{
		"labels": made.Labels, "annotations": made.Annotations, "spec": made.Spec,
	})
	require.NoError(t, err)
	path := filepath.Join("testdata", file)
	if os.Getenv("GOLDEN") == "write" {
		require.NoError(t, os.WriteFile(path, body, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(body), "GOLDEN=write accepts it")
}

func based(name string, change ...func(*core.Container)) *core.TaskTemplate {
	template := plugintest.ContainerTask(change...)
	template.Metadata = &core.TaskMetadata{PodTemplateName: name}
	return template
}

// quiet drops from golden files what every pod has and other tests cover.
func quiet(made *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	made = made.DeepCopy()
	for _, list := range [][]corev1.Container{made.Spec.Containers, made.Spec.InitContainers} {
		for i := range list {
			var kept []corev1.EnvVar
			for _, variable := range list[i].Env {
				if strings.HasPrefix(variable.Name, "X_") {
					kept = append(kept, variable)
				}
			}
			list[i].Env = kept
		}
	}
	return made
}

func TestPodTemplateIsTheBaseOfAContainer(t *testing.T) {
	b := newBench(t)
	b.template(t, "ns", "base", "template.yaml")
	template := based("base", func(c *core.Container) {
		c.Args = []string{"a0", "{{.runName}}"}
		c.Env = []*core.KeyValuePair{{Key: "X_LEVEL", Value: "task"}}
		c.Resources = &core.Resources{Requests: []*core.Resources_ResourceEntry{{Name: core.Resources_MEMORY, Value: "4Gi"}}}
	})
	golden(t, "container.golden.yaml", quiet(b.build(t, plugintest.AttemptOf(template))))
}

func TestPodTemplateIsTheBaseOfAPod(t *testing.T) {
	b := newBench(t)
	b.template(t, "ns", "base", "template.yaml")
	template := podTask(t, map[string]any{
		"nodeSelector": map[string]any{"zone": "mine", "disk": "ssd"},
		"tolerations":  []any{map[string]any{"key": "mine", "operator": "Exists"}},
		"volumes":      []any{map[string]any{"name": "scratch", "emptyDir": map[string]any{"sizeLimit": "1Gi"}}},
		"initContainers": []any{
			map[string]any{"name": "first", "image": "i1"}, map[string]any{"name": "next", "image": "i2"},
		},
		"containers": []any{
			map[string]any{"name": "metrics", "args": []any{"--mine"}},
			map[string]any{
				"name": "main", "image": "m", "env": []any{map[string]any{"name": "X_FROM", "value": "mine"}},
				"volumeMounts": []any{map[string]any{"name": "scratch", "mountPath": "/scratch", "readOnly": true}},
			},
		},
	})
	template.Metadata = &core.TaskMetadata{PodTemplateName: "base"}
	golden(t, "pod.golden.yaml", quiet(b.build(t, plugintest.AttemptOf(template))))
}

func TestWhichPodTemplate(t *testing.T) {
	ask := func(t *testing.T, b *bench, template *core.TaskTemplate, byRun string) string {
		t.Helper()
		attempt := plugintest.AttemptOf(template, func(s *v1.TaskActionSpec) {
			if byRun != "" {
				s.Defaults = &v1.Defaults{PodTemplate: byRun}
			}
		})
		return b.build(t, attempt).Labels["from"]
	}
	place := func(b *bench, namespace, name string) {
		if b.templates.All == nil {
			b.templates.All = map[string]*corev1.PodTemplate{}
		}
		made := &corev1.PodTemplate{}
		made.Template.Labels = map[string]string{"from": namespace + "." + name}
		b.templates.All[namespace+"/"+name] = made
	}
	b := newBench(t, func(c *podspec.Config) { c.DefaultPodTemplate, c.PodTemplateNamespace = "configured", "shared" })
	for _, name := range []string{"task", "run", "configured"} {
		place(b, "shared", name)
	}
	require.Equal(t, "shared.task", ask(t, b, based("task"), "run"))
	require.Equal(t, "shared.run", ask(t, b, plugintest.ContainerTask(), "run"))
	require.Equal(t, "shared.configured", ask(t, b, plugintest.ContainerTask(), ""))
	reads := b.templates.Reads
	place(b, "ns", "run")
	require.Equal(t, "ns.run", ask(t, b, plugintest.ContainerTask(), "run"), "that of the pod's namespace wins")
	require.Equal(t, reads+1, b.templates.Reads)
	ask(t, b, plugintest.ContainerTask(), "run")
	require.Equal(t, reads+1, b.templates.Reads, "it is cached")
	b.templates.All["ns/run"].Template.Labels["from"] = "changed"
	b.clock.Step(10 * time.Second)
	require.Equal(t, "changed", ask(t, b, plugintest.ContainerTask(), "run"), "it is cached only for a moment")
}

func TestPodTemplatesThatCannotBeRead(t *testing.T) {
	b := newBench(t)
	b.templates.Fail = errors.New("connection refused")
	_, err := b.builder.Build(t.Context(), plugintest.AttemptOf(based("base")))
	require.ErrorContains(t, err, "connection refused")
	require.Nil(t, failure.Of(err), "an outage costs no attempt")
	b.templates.Fail = apierrors.NewForbidden(schema.GroupResource{Resource: "podtemplates"}, "base", errors.New("no right"))
	why := b.lost(t, plugintest.AttemptOf(based("base")))
	require.Equal(t, failure.BadTaskSpecification, why.Reason)
	require.Contains(t, why.Message, "allow the executor to get podtemplates")
}

func TestAPodTemplateIsNotChangedByItsPods(t *testing.T) {
	b := newBench(t)
	b.template(t, "ns", "base", "template.yaml")
	before := b.templates.All["ns/base"].DeepCopy()
	first := b.build(t, plugintest.AttemptOf(based("base"))).DeepCopy()
	attempt := plugintest.AttemptOf(based("base"))
	again := b.build(t, attempt)
	require.Equal(t, first.Spec, again.Spec, "the same attempt always gets the same pod")
	require.Equal(t, before, b.templates.All["ns/base"])
}
