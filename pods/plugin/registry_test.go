package plugin_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// idle is a plugin that does nothing.
type idle string

func (i idle) Name() string { return string(i) }

func (i idle) Advance(context.Context, *plugin.Attempt) (plugin.State, error) {
	return plugin.State{}, nil
}

func (i idle) Remove(context.Context, *plugin.Attempt) error { return nil }

func attempt(taskType string, config map[string]string) *plugin.Attempt {
	return &plugin.Attempt{Task: &v1.TaskAction{}, Template: &core.TaskTemplate{Type: taskType, Config: config}}
}

// inContainer is an attempt whose task names its plugin as the Python SDK does.
func inContainer(taskType, name string) *plugin.Attempt {
	made := attempt(taskType, nil)
	config := []*core.KeyValuePair{{Key: "other", Value: "pod"}, {Key: plugin.ConfigKey, Value: name}}
	made.Template.Target = &core.TaskTemplate_Container{Container: &core.Container{Config: config}}
	return made
}

func TestThePluginOfAnAttempt(t *testing.T) {
	registry, err := plugin.NewRegistry(plugin.Routes{Default: "pod", TaskTypes: map[string]string{"batch": "job"}}, idle("pod"), idle("job"))
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		attempt *plugin.Attempt
		want    plugin.Plugin
	}{
		"the default":                    {attempt("python", nil), idle("pod")},
		"by task type":                   {attempt("batch", nil), idle("job")},
		"by the task":                    {attempt("python", map[string]string{plugin.ConfigKey: "job"}), idle("job")},
		"by the task's container":        {inContainer("python", "job"), idle("job")},
		"the task wins":                  {attempt("batch", map[string]string{plugin.ConfigKey: "pod"}), idle("pod")},
		"other config":                   {attempt("python", map[string]string{"primary_container_name": "main"}), idle("pod")},
		"a template that is not decoded": {&plugin.Attempt{Task: &v1.TaskAction{}}, idle("pod")},
	} {
		require.Equal(t, tc.want, registry.For(tc.attempt), name)
	}
	require.Len(t, registry.All(), 2)
}

// TestTypesThatAPluginIsMadeFor: they are served where the plugin is enabled, and the configuration takes precedence.
func TestTypesThatAPluginIsMadeFor(t *testing.T) {
	routes := plugin.Routes{Default: "pod", TaskTypes: map[string]string{"spark": "pod"}, Made: map[string]string{"ray": "ray", "spark": "ray"}}
	registry, err := plugin.NewRegistry(routes, idle("pod"), plugin.Absent("ray", "install it", true))
	require.NoError(t, err)
	require.Equal(t, idle("pod"), registry.For(attempt("spark", nil)))
	waits := attempt("ray", nil)
	state, err := registry.For(waits).Advance(t.Context(), waits)
	require.NoError(t, err)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, state.Phase)
	require.Equal(t, "install it", state.Message)
	waits.Known = "its object was seen"
	state, err = registry.For(waits).Advance(t.Context(), waits)
	require.NoError(t, err)
	require.Equal(t, failure.OperatorMissing, state.Failure.Reason, "it is gone with its type")
}

func TestAPluginThatIsNotEnabledFailsTheAttempt(t *testing.T) {
	registry, err := plugin.NewRegistry(plugin.Routes{Default: "pod"}, idle("pod"))
	require.NoError(t, err)
	wrong := attempt("python", map[string]string{plugin.ConfigKey: "ray"})
	state, err := registry.For(wrong).Advance(t.Context(), wrong)
	require.NoError(t, err)
	require.Equal(t, failure.BadTaskSpecification, state.Failure.Reason)
	require.Contains(t, state.Failure.Message, `plugin "ray"`)
	require.NoError(t, registry.For(wrong).Remove(t.Context(), wrong))
}

// TestATypeThatNobodyServesFailsTheAttempt: also when an earlier version of the server took the task.
func TestATypeThatNobodyServesFailsTheAttempt(t *testing.T) {
	registry, err := plugin.NewRegistry(plugin.Routes{Default: "pod"}, idle("pod"))
	require.NoError(t, err)
	wrong := attempt("spark", map[string]string{plugin.ConfigKey: "pod"})
	state, err := registry.For(wrong).Advance(t.Context(), wrong)
	require.NoError(t, err)
	require.Equal(t, failure.BadTaskSpecification, state.Failure.Reason)
	require.Contains(t, state.Failure.Message, (tasktype.Set{}).Refusal(wrong.Template))

	configured, err := plugin.NewRegistry(plugin.Routes{Default: "pod", TaskTypes: map[string]string{"spark": "pod"}}, idle("pod"))
	require.NoError(t, err)
	require.Equal(t, idle("pod"), configured.For(wrong))
}

func TestRegistriesThatContradictThemselves(t *testing.T) {
	_, err := plugin.NewRegistry(plugin.Routes{Default: "pod"}, idle("pod"), idle("pod"))
	require.ErrorContains(t, err, "registered twice")
	_, err = plugin.NewRegistry(plugin.Routes{Default: "job"}, idle("pod"))
	require.ErrorContains(t, err, `default plugin "job": not one of pod`)
	_, err = plugin.NewRegistry(plugin.Routes{Default: "pod", TaskTypes: map[string]string{"batch": "job"}}, idle("pod"))
	require.ErrorContains(t, err, `plugin "job" of task type "batch"`)
}
