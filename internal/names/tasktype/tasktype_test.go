package tasktype_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
)

func container(taskType string) *core.TaskTemplate {
	return &core.TaskTemplate{Type: taskType, Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "image"}}}
}

func TestTypesThatNeedNoConfiguration(t *testing.T) {
	var set tasktype.Set
	for _, name := range append(set.Names(), "") {
		require.Empty(t, set.Refusal(container(name)), name)
		require.Empty(t, set.Note(name), name)
	}
}

// TestFunctionsOfPlugins: flyteplugins-dbt and flyteplugins-rs send types of their own for what is one container. They were refused.
func TestFunctionsOfPlugins(t *testing.T) {
	var set tasktype.Set
	for _, name := range []string{"dbt", "rust-task"} {
		require.Empty(t, set.Refusal(container(name)), name)
		require.True(t, tasktype.IsContainer(name), name)
	}
	words := set.Refusal(container("slurm"))
	require.Contains(t, words, "they need a connector to Slurm")
	require.NotContains(t, words, "plain pod")
}

func TestATypeThatNobodyServes(t *testing.T) {
	set := tasktype.NewSet(map[string]string{"batch": "job"}, nil)
	words := set.Refusal(container("spark"))
	require.Contains(t, words, "the plugin spark, and the Spark operator on the cluster", "what would serve it")
	require.Contains(t, words, "actor, batch, container, core-sleep, dbt, echo, notebook, python,", "what is served")
	require.Contains(t, words, "spark=pod in executor.plugins.taskTypes", "how to run it anyway")
	require.Contains(t, set.Refusal(container("no-such-type")), `"no-such-type"`)
	require.Contains(t, set.Refusal(container("pytorch")), "or the plugin trainjob, and Kubeflow Trainer", "two plugins do")
}

// TestATypeThatNeedsAConnector: another system does the work of such a task, so the words do not advise to run it as a pod.
func TestATypeThatNeedsAConnector(t *testing.T) {
	var set tasktype.Set
	for name, c := range map[string]struct {
		template *core.TaskTemplate
		want     string
	}{
		"known":              {&core.TaskTemplate{Type: "snowflake", Target: &core.TaskTemplate_Sql{Sql: &core.Sql{Statement: "SELECT 1"}}}, "a connector to Snowflake"},
		"known, with code":   {container("databricks"), "a connector to Databricks"},
		"of the user":        {&core.TaskTemplate{Type: "batch_job", Target: &core.TaskTemplate_Container{Container: &core.Container{}}}, "a connector"},
		"without any target": {&core.TaskTemplate{Type: "batch_job"}, "a connector"},
	} {
		words := set.Refusal(c.template)
		require.Contains(t, words, "they need "+c.want+". This installation serves", name)
		require.Contains(t, words, "actor, container,", name)
		require.NotContains(t, words, "taskTypes", name)
		require.NotContains(t, words, "plain pod", name)
	}
	words := set.Refusal(&core.TaskTemplate{Type: "batch", Target: &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{}}})
	require.Contains(t, words, "batch=pod", "a pod can run it")
}

func TestATypeThatRunsAloneByConfiguration(t *testing.T) {
	set := tasktype.NewSet(map[string]string{"ray": "pod", "python": "job", "spark": "spark"}, map[string]string{"ray": "ray", "spark": "spark", "dask": "dask"})
	require.Empty(t, set.Refusal(container("ray")))
	require.Contains(t, set.Note("ray"), "ray=pod")
	require.Empty(t, set.Note("python"), "it is one container anyway")
	require.Empty(t, set.Refusal(container("dask")), "an enabled plugin is made for it")
	require.Empty(t, set.Note("dask"))
	require.Empty(t, set.Note("spark"), "the configuration names the plugin that is made for it")
}

// TestServedTypesAreDocumented: docs/wire-compatibility.md has a row for each.
func TestServedTypesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/wire-compatibility.md")
	require.NoError(t, err)
	for _, name := range (tasktype.Set{}).Names() {
		require.Contains(t, string(page), "| `"+name+"` |")
	}
}
