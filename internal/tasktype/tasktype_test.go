package tasktype_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/tasktype"
)

func TestTypesThatNeedNoConfiguration(t *testing.T) {
	var set tasktype.Set
	for _, name := range append(set.Names(), "") {
		require.Empty(t, set.Refusal(name), name)
		require.Empty(t, set.Note(name), name)
	}
}

func TestATypeThatNobodyServes(t *testing.T) {
	set := tasktype.NewSet(map[string]string{"batch": "job"})
	words := set.Refusal("spark")
	require.Contains(t, words, "a plugin for the Spark operator", "what would serve it")
	require.Contains(t, words, "actor, batch, container, core-sleep, echo, notebook, python,", "what is served")
	require.Contains(t, words, "spark=pod in executor.plugins.taskTypes", "how to run it anyway")
	require.Contains(t, set.Refusal("no-such-type"), `"no-such-type"`)
}

func TestATypeThatRunsAloneByConfiguration(t *testing.T) {
	set := tasktype.NewSet(map[string]string{"ray": "pod", "python": "job"})
	require.Empty(t, set.Refusal("ray"))
	require.Contains(t, set.Note("ray"), "ray=pod")
	require.Empty(t, set.Note("python"), "it is one container anyway")
}

// TestServedTypesAreDocumented: docs/wire-compatibility.md has a row for each.
func TestServedTypesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/wire-compatibility.md")
	require.NoError(t, err)
	for _, name := range (tasktype.Set{}).Names() {
		require.Contains(t, string(page), "| `"+name+"` |")
	}
}
