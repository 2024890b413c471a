package demo

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAClientThatAbortsDuringExitSucceeded(t *testing.T) {
	require.True(t, abortedAtExit(exec.Command("sh", "-c", "kill -ABRT $$").Run()))
	require.False(t, abortedAtExit(exec.Command("sh", "-c", "kill -KILL $$").Run()))
	require.False(t, abortedAtExit(exec.Command("sh", "-c", "exit 6").Run()))
	require.False(t, abortedAtExit(exec.Command("no-such-program").Run()))
	require.False(t, abortedAtExit(nil))
}
