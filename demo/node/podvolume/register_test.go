package podvolume_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/podvolume"
)

// node makes this test binary a node of another demo, which mounts a directory.
const node = "mount-and-release"

// TestMain is the node's program too: its arguments are the register, the ledger, the target, and how often it mounts; 0 means that it
// mounts once and waits to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == node {
		if err := mountAndRelease(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func mountAndRelease(registered, ledger, target, times string) error {
	register, err := podvolume.RegisterIn(registered)
	if err != nil {
		return err
	}
	m, err := podvolume.NewMounter(ledger, register, true)
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	for range max(count, 1) {
		plan, err := m.Plan([]podvolume.Mount{{Source: filepath.Dir(ledger), Target: target}})
		if err != nil {
			return err
		}
		if count == 0 {
			_, _ = fmt.Fprintln(os.Stdout, "mounted")
			_, err := io.Copy(io.Discard, os.Stdin)
			return err
		}
		for range 20 { // what a shim mounts there must find the directory
			if info, err := os.Stat(target); err != nil || !info.IsDir() {
				return fmt.Errorf("the mount path is gone while it is in use: %w", err)
			}
		}
		plan.Release()
	}
	return nil
}

func register(t *testing.T) podvolume.Register {
	t.Helper()
	r, err := podvolume.RegisterIn(filepath.Join(t.TempDir(), "register"))
	require.NoError(t, err)
	return r
}

// Nodes of several demos share the mount paths of a machine: none may remove a directory that a container of another one mounts on.
func TestTwoNodesRaceForAMountPath(t *testing.T) {
	shared, machine := filepath.Join(t.TempDir(), "register"), t.TempDir()
	target := filepath.Join(machine, "etc/flyte/secrets")
	var nodes []*exec.Cmd
	for range 3 {
		cmd := exec.Command(os.Args[0], node, shared, filepath.Join(t.TempDir(), "mounts.json"), target, "300")
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		nodes = append(nodes, cmd)
	}
	for _, cmd := range nodes {
		require.NoError(t, cmd.Wait())
	}
	require.NoDirExists(t, filepath.Join(machine, "etc"), "the last one has removed what was made")
}

// The containers of a node that was killed continue, so their mount paths stay. With the data of the node they are no one's.
func TestAMountPathOutlivesTheNodeThatWasKilled(t *testing.T) {
	shared, machine, data := filepath.Join(t.TempDir(), "register"), t.TempDir(), t.TempDir()
	target := filepath.Join(machine, "etc/flyte/secrets")
	cmd := exec.Command(os.Args[0], node, shared, filepath.Join(data, "mounts.json"), target, "0")
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "mounted\n", line)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	r, err := podvolume.RegisterIn(shared)
	require.NoError(t, err)
	ours, err := podvolume.NewMounter(filepath.Join(t.TempDir(), "mounts.json"), r, true)
	require.NoError(t, err)
	mount := func() {
		plan, err := ours.Plan([]podvolume.Mount{{Source: data, Target: target}})
		require.NoError(t, err)
		plan.Release()
	}
	mount()
	require.DirExists(t, target, "a container of the other node may still mount there")

	next, err := podvolume.NewMounter(filepath.Join(data, "mounts.json"), r, true)
	require.NoError(t, err)
	held := next.Hold([]string{target})
	mount()
	require.DirExists(t, target)
	held.Release()
	require.NoDirExists(t, filepath.Join(machine, "etc"))

	mount()
	require.NoDirExists(t, filepath.Join(machine, "etc"), "nobody else uses it any more")
}

// A directory that vanished under its users is made again, and counted with them.
func TestAMountPathThatVanishedIsMadeAgain(t *testing.T) {
	machine, volume := t.TempDir(), t.TempDir()
	target := filepath.Join(machine, "a/b")
	m, err := podvolume.NewMounter(filepath.Join(t.TempDir(), "mounts.json"), register(t), true)
	require.NoError(t, err)
	first, err := m.Plan([]podvolume.Mount{{Source: volume, Target: target}})
	require.NoError(t, err)
	require.NoError(t, os.Remove(target))
	second, err := m.Plan([]podvolume.Mount{{Source: volume, Target: target}})
	require.NoError(t, err)
	require.DirExists(t, target)
	second.Release()
	require.DirExists(t, target, "the first one still counts")
	first.Release()
	require.NoDirExists(t, filepath.Join(machine, "a"))
}

// No one else may own the place where demos agree.
func TestTheRegisterOfMountPathsIsOurs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "register")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err := podvolume.RegisterIn(dir)
	require.ErrorContains(t, err, "is not a directory of user")
}
