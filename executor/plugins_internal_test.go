package executor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

func TestPluginsOfTheConfiguration(t *testing.T) {
	require.NoError(t, DefaultPlugins().Validate())
	for words, wrong := range map[string]Plugins{
		`probe: must be positive, got 0s`:                                {Enabled: []string{"pod"}, Default: "pod"},
		`enabled[1]: there is no plugin "slurm"`:                         {Enabled: []string{"pod", "slurm"}, Default: "pod"},
		`enabled[1]: "pod" is listed twice`:                              {Enabled: []string{"pod", "pod"}, Default: "pod"},
		`default: plugin "job" is not enabled`:                           {Enabled: []string{"pod"}, Default: "job"},
		`taskTypes[0]: "batch" is not TYPE=PLUGIN`:                       {Enabled: []string{"pod"}, Default: "pod", TaskTypes: []string{"batch"}},
		`taskTypes[0]: plugin "job" of task type "batch" is not enabled`: {Enabled: []string{"pod"}, Default: "pod", TaskTypes: []string{"batch=job"}},
		`taskTypes[1]: task type "batch" is listed twice`:                {Enabled: []string{"pod"}, Default: "pod", TaskTypes: []string{"batch=pod", "batch=pod"}},
	} {
		require.ErrorContains(t, wrong.Validate(), words)
	}
}

func TestServedTypesFollowTheConfiguration(t *testing.T) {
	require.NotEmpty(t, DefaultPlugins().Served().Refusal(&core.TaskTemplate{Type: "ray"}))
	configured := Plugins{Probe: time.Second, Enabled: []string{"pod"}, Default: "pod", TaskTypes: []string{"ray=pod"}}
	require.NoError(t, configured.Validate())
	require.Empty(t, configured.Served().Refusal(&core.TaskTemplate{Type: "ray"}))
	require.Contains(t, configured.Served().Note("ray"), "ray=pod")
}

// Without the job plugin the executor must not watch Jobs: it may not have the right to do so.
func TestOnlyEnabledPluginsBringTypes(t *testing.T) {
	scheme, err := newScheme(nil)
	require.NoError(t, err)
	informers, err := informersOf(DefaultConfig().definitions(), scheme)
	require.NoError(t, err)
	require.Empty(t, informers)

	both := Plugins{Probe: time.Second, Enabled: []string{"pod", "job"}, Default: "pod"}
	require.NoError(t, both.Validate())
	informers, err = informersOf(Config{Plugins: both}.definitions(), scheme)
	require.NoError(t, err)
	require.Len(t, informers, 1)
	require.IsType(t, &batchv1.Job{}, informers[0].Object)
}

func TestATypeHasOneInformer(t *testing.T) {
	scheme, err := newScheme(nil)
	require.NoError(t, err)
	jobs := []plugin.Informer{{Object: &batchv1.Job{}}}
	_, err = informersOf([]plugin.Definition{{Name: "a", Informers: jobs}, {Name: "b", Informers: jobs}}, scheme)
	require.ErrorContains(t, err, "plugin b: plugin a already has the informer of Job")
	_, err = informersOf([]plugin.Definition{{Name: "a", Informers: []plugin.Informer{{Object: &corev1.Pod{}}}}}, scheme)
	require.ErrorContains(t, err, "the executor already has the informer of Pod")
}

// TestPluginsBringTheirTypes: a type that an enabled plugin is made for needs no line in the configuration.
func TestPluginsBringTheirTypes(t *testing.T) {
	byType := made([]plugin.Definition{{Name: "pod"}, {Name: "ray", Types: []string{"ray"}}, {Name: "other", Types: []string{"ray", "dask"}}})
	require.Equal(t, map[string]string{"ray": "ray", "dask": "other"}, byType)
}

func TestSettingsOfAPlugin(t *testing.T) {
	config := DefaultPlugins()
	config.Job.Queue = "Not A Name"
	require.ErrorContains(t, config.Validate(), "job.queue")
}
