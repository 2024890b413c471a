package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
)

// TestTheRuntimeEnvironmentOfOlderClients was dropped.
func TestTheRuntimeEnvironmentOfOlderClients(t *testing.T) {
	env, err := runtimeEnv(&plugins.RayJob{RuntimeEnv: "eyJwaXAiOiBbIngiXX0="})
	require.NoError(t, err)
	require.JSONEq(t, `{"pip": ["x"]}`, env)

	env, err = runtimeEnv(&plugins.RayJob{RuntimeEnv: "eyJwaXAiOiBbIngiXX0=", RuntimeEnvYaml: "pip: [y]"})
	require.NoError(t, err)
	require.Equal(t, "pip: [y]", env)

	_, err = runtimeEnv(&plugins.RayJob{RuntimeEnv: "{}"})
	require.ErrorContains(t, err, "runtime_env: want JSON in base64")
}
