package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// TestPodsCannotUseTheKubernetesAPI unless someone asks for it.
func TestPodsCannotUseTheKubernetesAPI(t *testing.T) {
	declared := func(fields map[string]any) *core.TaskTemplate {
		fields["containers"] = []any{map[string]any{"name": "main", "image": "x"}}
		return podTask(t, fields)
	}
	allowed := func(c *podspec.Config) { c.Policy.ServiceAccounts = []string{"*"} }
	for name, c := range map[string]struct {
		template *core.TaskTemplate
		config   func(*podspec.Config)
		account  string
		want     *bool
	}{
		"a task":                       {template: plugintest.ContainerTask(), want: new(false)},
		"the configured account":       {template: plugintest.ContainerTask(), config: func(c *podspec.Config) { c.DefaultServiceAccount = "tasks" }, want: new(false)},
		"a task that names an account": {template: plugintest.ContainerTask(), config: allowed, account: "mine"},
		"a pod that names an account":  {template: declared(map[string]any{"serviceAccountName": "mine"}), config: allowed},
		"a pod that says no":           {template: declared(map[string]any{"automountServiceAccountToken": false}), config: func(c *podspec.Config) { c.ServiceAccountToken = true }, want: new(false)},
		"a pod that asks for it":       {template: declared(map[string]any{"automountServiceAccountToken": true}), want: new(true)},
		"an installation that gives it to all": {
			template: plugintest.ContainerTask(), config: func(c *podspec.Config) { c.ServiceAccountToken = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := c.config
			if config == nil {
				config = func(*podspec.Config) {}
			}
			made := newBench(t, config).build(t, plugintest.AttemptOf(c.template, func(s *v1.TaskActionSpec) { s.ServiceAccount = c.account }))
			require.Equal(t, c.want, made.Spec.AutomountServiceAccountToken)
		})
	}
}
