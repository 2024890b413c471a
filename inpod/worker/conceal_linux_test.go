package worker

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// concealAsChild conceals its token, says so, and waits for the end of its input.
func concealAsChild() error {
	value, err := Conceal(EnvToken)
	if err != nil {
		return err
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, value, os.Getenv(EnvToken) == "", dumpable, os.Getenv("FLYTE_TEST_OTHER"))
	_, err = os.Stdin.Read(make([]byte, 1))
	_ = err // the end of the input
	return nil
}

// TestAWorkerConcealsItsToken: each attempt of a pool could read it from /proc/PID/environ.
func TestAWorkerConcealsItsToken(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), concealEnv+"=1", EnvToken+"=hidden-"+t.Name(), "FLYTE_TEST_OTHER=left-as-it-is")
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = input.Close(), cmd.Wait() })
	said, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, []string{"hidden-" + t.Name(), "true", "0", "left-as-it-is"}, strings.Fields(said), "it has the token itself")

	seen, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
	if os.Geteuid() != 0 {
		require.ErrorIs(t, err, os.ErrPermission)
		return
	}
	require.NoError(t, err)
	require.NotContains(t, string(seen), "hidden-")
	require.Contains(t, string(seen), "left-as-it-is")
}
