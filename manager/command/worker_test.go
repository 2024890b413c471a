package command_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/inpod/worker"
)

func TestAWorkerNeedsAServer(t *testing.T) {
	for _, name := range []string{worker.EnvID, worker.EnvToken, worker.EnvEndpoint, worker.EnvConcurrency, worker.EnvGrace, worker.EnvStorage} {
		t.Setenv(name, "")
	}
	for _, step := range []struct{ name, value, wrong string }{
		{worker.EnvID, "w", worker.EnvID},
		{worker.EnvToken, "t", worker.EnvToken},
		{worker.EnvEndpoint, "localhost:1", worker.EnvEndpoint},
		{worker.EnvEndpoint, "http://localhost:1", worker.EnvEndpoint},
	} {
		_, err := run(t, "worker")
		require.ErrorContains(t, err, step.wrong)
		t.Setenv(step.name, step.value)
	}
	t.Setenv(worker.EnvConcurrency, "0")
	_, err := run(t, "worker")
	require.ErrorContains(t, err, worker.EnvConcurrency)
}

// TestAWorkerNamesAllThatIsWrong: with one start, not with one start for each variable.
func TestAWorkerNamesAllThatIsWrong(t *testing.T) {
	for name, value := range map[string]string{
		worker.EnvID: "", worker.EnvToken: "", worker.EnvEndpoint: "localhost:1", worker.EnvConcurrency: "many", worker.EnvGrace: "long", worker.EnvStorage: "",
	} {
		t.Setenv(name, value)
	}
	_, err := run(t, "worker")
	for _, name := range []string{worker.EnvID, worker.EnvToken, worker.EnvEndpoint, worker.EnvConcurrency, worker.EnvGrace} {
		require.ErrorContains(t, err, name+": ")
	}
}
