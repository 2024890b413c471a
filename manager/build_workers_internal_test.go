package manager

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorkersRunWhereTheyCanStart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   bool
	}{
		"nothing says where the program is": {func(*Config) {}, false},
		"the image has it":                  {func(c *Config) { c.Executor.Pod.Copilot.Image = "flyte-binary:v1" }, true},
		"each node has it":                  {func(c *Config) { c.Executor.Workers.Program = "/usr/bin/flyte-binary" }, true},
		"other processes run the clusters":  {func(c *Config) { c.Target = TargetAPI }, true},
		"they are turned off": {func(c *Config) {
			c.Executor.Pod.Copilot.Image, c.Workers.Enabled = "flyte-binary:v1", false
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := DefaultConfig()
			c.change(&config)
			require.Equal(t, c.want, config.workersRun())
		})
	}
}
