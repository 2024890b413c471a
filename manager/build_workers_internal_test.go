package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

func TestWorkersRunWhereTheyCanStart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*configuration.Config)
		want   bool
	}{
		"nothing says where the program is": {func(*configuration.Config) {}, false},
		"the image has it":                  {func(c *configuration.Config) { c.Executor.Pod.Copilot.Image = "flyte-binary:v1" }, true},
		"each node has it":                  {func(c *configuration.Config) { c.Executor.Workers.Program = "/usr/bin/flyte-binary" }, true},
		"other processes run the clusters":  {func(c *configuration.Config) { c.Target = configuration.TargetAPI }, true},
		"they are turned off": {func(c *configuration.Config) {
			c.Executor.Pod.Copilot.Image, c.Workers.Enabled = "flyte-binary:v1", false
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := configuration.DefaultConfig()
			c.change(&config)
			require.Equal(t, c.want, workersRun(config))
		})
	}
}
