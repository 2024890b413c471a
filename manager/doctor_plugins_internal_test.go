package manager

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

func TestDoctorNamesPluginsThatCannotRun(t *testing.T) {
	cluster := kubetest.New(t)
	config := executor.DefaultConfig()
	config.Plugins.Enabled = []string{"pod", "job"}
	found := examinePlugins(t.Context(), cluster.Config, config)
	require.Len(t, found, 1)
	require.NoError(t, found[0].Err)
	require.Equal(t, "the cluster serves the types of pod, job", found[0].Detail)

	stranger := rest.CopyConfig(cluster.Config)
	stranger.Impersonate.UserName = "someone-without-rights"
	found = examinePlugins(t.Context(), stranger, config)
	require.Len(t, found, 1)
	require.Equal(t, "plugin job", found[0].What)
	require.ErrorContains(t, found[0].Err, "the right to list and watch Job in batch/v1")
	require.Contains(t, found[0].Fix, "docs/plugins.md, or remove job from executor.plugins.enabled")

	found = missingPlugins([]executor.Absence{{Plugin: "ray", Why: "the cluster has no kind RayJob in ray.io/v1", Install: "the KubeRay operator"}})
	require.Len(t, found, 1)
	require.EqualError(t, found[0].Err, "the cluster has no kind RayJob in ray.io/v1")
	require.Equal(t, "install the KubeRay operator, or remove ray from executor.plugins.enabled; until then its tasks wait", found[0].Fix)
}

func TestDoctorSaysWhetherUsageCanBeRead(t *testing.T) {
	cluster := kubetest.New(t)
	config := executor.DefaultConfig()
	details := func(as *rest.Config) (all []string) {
		for _, finding := range examineUsage(t.Context(), as, config) {
			require.NoError(t, finding.Err, "tasks run without it")
			all = append(all, finding.What+" "+finding.Detail)
		}
		return all
	}
	found := details(cluster.Config)
	require.Len(t, found, 2)
	require.Equal(t, "Events of pods are shown among the events of actions", found[0])
	require.Contains(t, found[1], "is not measured: the cluster has no metrics API; install metrics-server")
	config.Measure.Kubelets = true
	require.Equal(t, "usage of tasks is read from the summaries of kubelets", details(cluster.Config)[1])

	stranger := rest.CopyConfig(cluster.Config)
	stranger.Impersonate.UserName, stranger.Impersonate.Groups = "someone-without-rights", []string{"system:authenticated"}
	config.Namespaces = []string{"tasks"}
	found = details(stranger)
	require.Contains(t, found[0], "are not shown: this account may not list events in namespace tasks")
	require.Contains(t, found[1], "this account may not get nodes/proxy in the whole cluster")
	require.Contains(t, found[1], "this account may not list pods.metrics.k8s.io in namespace tasks")

	config.Events, config.Measure.Interval = false, 0
	require.Empty(t, details(stranger))
}
