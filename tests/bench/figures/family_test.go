package figures_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

func TestFamily(t *testing.T) {
	child := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", "cat; true")
	open, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() {
		require.NoError(t, open.Close())
		require.NoError(t, child.Wait())
	})
	require.Eventually(t, func() bool {
		found, err := figures.Family(os.Getpid(), func(arguments []string) string { return arguments[0] })
		require.NoError(t, err)
		return found["cat"].Memory > 0 && found["sh"].Memory > 0 && found[os.Args[0]].Memory > found["cat"].Memory
	}, time.Minute, 10*time.Millisecond)
}
