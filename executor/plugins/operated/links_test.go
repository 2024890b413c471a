package operated_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/executor/plugins/dask"
	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// withPods is a cluster whose operator has created pods.
type withPods struct {
	created
	pods []corev1.Pod
}

func (w *withPods) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*corev1.PodList).Items = slices.Clone(w.pods)
	return nil
}

// TestEachMemberHasItsLinks: what keeps an attempt knows its links by name, so those of all pods but one were lost.
func TestEachMemberHasItsLinks(t *testing.T) {
	template, config := task(t, "dask", 0, `{}`), podspec.DefaultConfig()
	template.Metadata = &core.TaskMetadata{LogLinks: []*core.TaskLog{{Name: "experiment", Uri: "https://board/{{.runName}}"}}}
	config.LogLinks = []podspec.LogLink{
		{Name: "logs", URI: "https://logs/{{.podName}}"},
		{Name: "dashboard", URI: "https://proxy/{{.podName}}", Roles: []string{"scheduler"}},
	}
	cluster := &withPods{created: created{objects: map[string]*unstructured.Unstructured{}}}
	tested, err := dask.Definition(config, operated.DefaultConfig()).New(plugin.Deps{
		Cache: cluster, Live: cluster, Writer: cluster, Store: &plugintest.Blobs{}, Clock: clock.NewFake(plugintest.Now()),
	})
	require.NoError(t, err)
	attempt := plugintest.AttemptOf(template)
	links := func() map[string]string {
		state, err := tested.Advance(t.Context(), attempt)
		require.NoError(t, err)
		found := map[string]string{}
		for _, link := range state.LogLinks {
			require.NotContains(t, found, link.GetName())
			found[link.GetName()] = link.GetUri()
		}
		return found
	}
	require.Empty(t, links())
	add := func(name string, path ...string) {
		fields, _, err := unstructured.NestedMap(cluster.objects["DaskJob"].Object, path...)
		require.NoError(t, err)
		made := &corev1.PodTemplateSpec{}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(fields, made))
		pod := corev1.Pod{ObjectMeta: made.ObjectMeta, Spec: made.Spec}
		pod.Namespace, pod.Name, pod.UID = attempt.Task.Namespace, name, types.UID(name)
		pod.Spec.NodeName, pod.Status.Phase = "n", corev1.PodRunning
		cluster.pods = append(cluster.pods, pod)
	}
	const experiment = "https://board/r1"
	add("w-0", "spec", "cluster", "spec", "worker")
	require.Equal(t, map[string]string{"experiment": experiment, "logs (w-0)": "https://logs/w-0"}, links())
	add("s-0", "spec", "cluster", "spec", "scheduler")
	require.Equal(t, map[string]string{
		"experiment": experiment, "logs (w-0)": "https://logs/w-0", "logs (s-0)": "https://logs/s-0", "dashboard": "https://proxy/s-0",
	}, links(), "that of the cluster is not one of each pod")
	add("runner", "spec", "job")
	add("w-1", "spec", "cluster", "spec", "worker")
	require.Equal(t, map[string]string{
		"experiment": experiment, "dashboard": "https://proxy/s-0", "logs": "https://logs/runner",
		"logs (s-0)": "https://logs/s-0", "logs (w-0)": "https://logs/w-0", "logs (w-1)": "https://logs/w-1",
	}, links())
}
