package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	_ "github.com/flyte-binary/flyte-binary/demo/node/shim/early" // this binary is the shim, too
)

type bundle struct {
	launcher process.Launcher
	dir      string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return &bundle{
		launcher: process.Launcher{Executable: self, MemoryInterval: 20 * time.Millisecond},
		dir:      t.TempDir(),
	}
}

// shell starts a script.
func (b *bundle) shell(t *testing.T, script string, change ...func(*process.Command)) *process.Process {
	t.Helper()
	command := process.Command{
		ID: t.Name() + "/" + strconv.Itoa(os.Getpid()), Path: "/bin/sh", Argv: []string{"sh", "-c", script},
		Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: b.dir,
	}
	for _, f := range change {
		f(&command)
	}
	p, err := b.launcher.Start(b.dir, command)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(b.dir, process.LogFile), "it can be followed at once")
	t.Cleanup(func() {
		p.Kill()
		wait(t, p.Done())
	})
	return p
}

func wait(t *testing.T, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(20 * time.Second):
		require.FailNow(t, "timed out")
	}
}

func (b *bundle) log(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.dir, process.LogFile))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// pidFrom waits for a script to write a process id.
func (b *bundle) pidFrom(t *testing.T, name string) int {
	t.Helper()
	var pid int
	require.Eventually(t, func() bool {
		raw, err := os.ReadFile(filepath.Join(b.dir, name))
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(raw)))
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	return pid
}

func TestExitCodeAndOutput(t *testing.T) {
	b := setup(t)
	p := b.shell(t, "echo out; echo err >&2; printf tail; exit 7")
	wait(t, p.Done())
	state := p.State()
	require.Equal(t, shim.Exited, state.Phase)
	require.Equal(t, 7, state.ExitCode)
	require.Zero(t, state.Signal)
	require.False(t, state.FinishedAt.Before(state.StartedAt))

	var seen []string
	for _, line := range b.log(t) {
		stamp, rest, _ := strings.Cut(line, " ")
		_, err := time.Parse(time.RFC3339Nano, stamp)
		require.NoError(t, err)
		seen = append(seen, rest)
	}
	require.ElementsMatch(t, []string{"stdout F out", "stderr F err", "stdout F tail"}, seen)
}

func TestSignalOfTheProcess(t *testing.T) {
	b := setup(t)
	p := b.shell(t, "kill -SEGV $$")
	wait(t, p.Done())
	require.Equal(t, 128+int(syscall.SIGSEGV), p.State().ExitCode)
	require.Equal(t, int(syscall.SIGSEGV), p.State().Signal)
}

func TestCannotStart(t *testing.T) {
	b := setup(t)
	p := b.shell(t, "", func(c *process.Command) { c.Path = filepath.Join(b.dir, "missing") })
	wait(t, p.Done())
	wait(t, p.Started())
	require.Equal(t, shim.Exited, p.State().Phase)
	require.Equal(t, 128, p.State().ExitCode)
	require.Contains(t, p.State().StartError, "no such file")
}

// What the machine cannot do is not blamed on the command.
func TestAStartThatFailsSaysWhoseFaultItIs(t *testing.T) {
	b := setup(t)
	p := b.shell(t, "", func(c *process.Command) { c.Path = filepath.Join(b.dir, "missing") })
	wait(t, p.Done())
	require.False(t, p.State().MachineFault)
	if os.Geteuid() != 0 {
		t.Skip("mount namespaces need root")
	}
	b = setup(t)
	p = b.shell(t, "", func(c *process.Command) {
		c.Mounts = []shim.Mount{{Source: b.dir, Target: filepath.Join(b.dir, "gone")}}
	})
	wait(t, p.Done())
	require.Contains(t, p.State().StartError, "mount a volume at")
	require.True(t, p.State().MachineFault)
}

// A supervisor that is stopped by its own container continues; one that is stopped again and again ends with it.
func TestAStoppedSupervisor(t *testing.T) {
	for name, attached := range map[string]bool{"of this node": false, "of the node before": true} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			first := b.shell(t, `(setsid sh -c 'while :; do kill -STOP '$PPID'; done' &); kill -STOP $PPID; echo 1 >ready; sleep 1000`)
			b.pidFrom(t, "ready")
			p := first
			if attached {
				wait(t, first.Started())
				var err error
				p, err = process.Attach(b.dir)
				require.NoError(t, err)
			}
			wait(t, p.Done())
			times, ended := p.Stops()
			require.Positive(t, times)
			require.True(t, ended || attached, "the first one guards it, too")
			require.Equal(t, int(syscall.SIGKILL), p.State().Signal, "%+v", p.State())
		})
	}
	t.Run("once", func(t *testing.T) {
		b := setup(t)
		p := b.shell(t, `kill -STOP $PPID; exit 4`)
		wait(t, p.Done())
		times, ended := p.Stops()
		require.False(t, ended)
		require.Equal(t, 1, times)
		require.Equal(t, 4, p.State().ExitCode)
	})
}

func TestTerminateReachesTheWholeGroup(t *testing.T) {
	b := setup(t)
	p := b.shell(t, `(trap 'echo child; exit 0' TERM; echo $$ >child.ready; while :; do sleep 0.05; done) &
		trap 'wait; echo parent; exit 5' TERM; echo 1 >ready; wait`)
	b.pidFrom(t, "ready")
	b.pidFrom(t, "child.ready")
	p.Terminate()
	wait(t, p.Done())
	require.Equal(t, 5, p.State().ExitCode)
	require.Contains(t, strings.Join(b.log(t), "\n"), "child")
}

func TestKillLeavesNothing(t *testing.T) {
	b := setup(t)
	p := b.shell(t, `trap '' TERM; setsid sh -c 'trap "" TERM; echo $$ >pid.next; mv pid.next pid; sleep 100' & sleep 100`)
	pid := b.pidFrom(t, "pid")
	p.Terminate()
	require.True(t, alive(pid))
	p.Kill()
	wait(t, p.Done())
	require.Equal(t, 137, p.State().ExitCode)
	require.False(t, alive(pid))
	require.False(t, p.State().OutOfMemory)
}

// A process that was disowned and moved to a session of its own ends with the container's first process.
func TestTheEndOfTheFirstProcessEndsAll(t *testing.T) {
	b := setup(t)
	p := b.shell(t, `(setsid sh -c 'echo $$ >pid.next; mv pid.next pid; sleep 100' &) ; while [ ! -e pid ]; do sleep 0.01; done`)
	wait(t, p.Done())
	require.Zero(t, p.State().ExitCode)
	require.False(t, alive(b.pidFrom(t, "pid")))
}

func TestOutOfMemory(t *testing.T) {
	b := setup(t)
	script := "import time\nx = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(60)"
	p := b.shell(t, "", func(c *process.Command) {
		python, err := exec.LookPath("python3")
		require.NoError(t, err)
		c.Path, c.Argv, c.MemoryBytes = python, []string{"python3", "-c", script}, 100<<20
	})
	wait(t, p.Done())
	require.True(t, p.State().OutOfMemory)
	require.Equal(t, 137, p.State().ExitCode)
}

// Pages of files are not held memory, as for the kernel, which drops them first: libraries are mostly that.
func TestMappedFilesAreNotHeldMemory(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		oom          bool
	}{
		{"of a file", "f = open('big', 'wb'); f.truncate(200 << 20); m = mmap.mmap(os.open('big', os.O_RDONLY), 200 << 20, prot=mmap.PROT_READ)\nsum(m[i] for i in range(0, len(m), 4096)); time.sleep(1)", false},
		{"shared memory", "m = mmap.mmap(-1, 200 << 20)\nfor i in range(0, len(m), 4096): m[i] = 1\ntime.sleep(60)", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := setup(t)
			p := b.shell(t, "", func(c *process.Command) {
				python, err := exec.LookPath("python3")
				require.NoError(t, err)
				c.Path, c.Argv, c.MemoryBytes = python, []string{"python3", "-c", "import mmap, os, time\n" + tc.script}, 100<<20
			})
			wait(t, p.Done())
			require.Equal(t, tc.oom, p.State().OutOfMemory)
			if !tc.oom {
				require.Zero(t, p.State().ExitCode)
			}
		})
	}
}

// Memory is that of the whole tree, and what children share with their parent is counted once.
func TestOutOfMemoryOfTheTree(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		oom          bool
	}{
		{"shared pages count once", "x = bytearray(60 << 20)\nfor _ in range(4):\n  if os.fork() == 0: time.sleep(1); os._exit(0)\ntime.sleep(1)", false},
		{"own pages add up", "for _ in range(4):\n  if os.fork() == 0: x = bytearray(60 << 20); time.sleep(30); os._exit(0)\ntime.sleep(30)", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := setup(t)
			p := b.shell(t, "", func(c *process.Command) {
				python, err := exec.LookPath("python3")
				require.NoError(t, err)
				c.Path, c.Argv, c.MemoryBytes = python, []string{"python3", "-c", "import os, time\n" + tc.script}, 150<<20
			})
			wait(t, p.Done())
			require.Equal(t, tc.oom, p.State().OutOfMemory)
		})
	}
}

func TestLogIsRotated(t *testing.T) {
	b := setup(t)
	b.launcher.LogBytes = 128 << 10
	p := b.shell(t, `i=0; while [ $i -lt 6000 ]; do echo "line $i"; i=$((i+1)); done`)
	wait(t, p.Done())
	lines := b.log(t)
	require.True(t, strings.HasSuffix(lines[len(lines)-1], " stdout F line 5999"))
	older, err := os.Stat(filepath.Join(b.dir, process.LogFile+".1"))
	require.NoError(t, err)
	require.LessOrEqual(t, older.Size(), int64(128<<10))
}

func TestAttach(t *testing.T) {
	t.Run("never started", func(t *testing.T) {
		b := setup(t)
		_, err := process.Attach(b.dir)
		require.ErrorIs(t, err, process.ErrNeverStarted)
	})
	t.Run("alive", func(t *testing.T) {
		b := setup(t)
		first := b.shell(t, `trap 'exit 9' TERM; echo 1 >ready; while :; do sleep 0.05; done`)
		b.pidFrom(t, "ready")
		again, err := process.Attach(b.dir)
		require.NoError(t, err)
		wait(t, again.Started())
		require.Equal(t, shim.Running, again.State().Phase)
		again.Terminate()
		wait(t, again.Done())
		require.Equal(t, 9, again.State().ExitCode)
		wait(t, first.Done())
	})
	t.Run("ended meanwhile", func(t *testing.T) {
		b := setup(t)
		wait(t, b.shell(t, "exit 3").Done())
		again, err := process.Attach(b.dir)
		require.NoError(t, err)
		wait(t, again.Done())
		require.Equal(t, shim.Exited, again.State().Phase)
		require.Equal(t, 3, again.State().ExitCode)
	})
	t.Run("lost with its shim", func(t *testing.T) {
		b := setup(t)
		p := b.shell(t, `(setsid sh -c 'echo $$ >pid.next; mv pid.next pid; sleep 100' &) ; sleep 100`)
		pid := b.pidFrom(t, "pid")
		wait(t, p.Started())
		require.NoError(t, syscall.Kill(p.State().ShimPID, syscall.SIGKILL))
		wait(t, p.Done())
		require.Equal(t, shim.Running, p.State().Phase, "no exit status was recorded")
		for _, gone := range []int{pid, p.State().PID} {
			require.Eventually(t, func() bool { return !alive(gone) }, 5*time.Second, 10*time.Millisecond)
		}
		again, err := process.Attach(b.dir)
		require.NoError(t, err)
		wait(t, again.Done())
		require.Equal(t, shim.Running, again.State().Phase)
	})
}

func TestEnvironmentIsTheGivenOne(t *testing.T) {
	t.Setenv("LEAK", "1")
	b := setup(t)
	p := b.shell(t, "env", func(c *process.Command) { c.Env = append(c.Env, "A=b") })
	wait(t, p.Done())
	text := strings.Join(b.log(t), "\n")
	require.Contains(t, text, " A=b")
	require.NotContains(t, text, "LEAK")
	raw, err := os.ReadFile(filepath.Join(b.dir, "state"))
	require.NoError(t, err)
	require.NotContains(t, string(raw), "A=b", "values are never written to disk")
}

func TestMountsInANamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mount namespaces need root")
	}
	b := setup(t)
	source, target := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(source, "key"), []byte("value"), 0o600))
	p := b.shell(t, "cat "+target+"/key; echo x >"+target+"/new", func(c *process.Command) {
		c.Mounts = []shim.Mount{{Source: source, Target: target, ReadOnly: true}}
	})
	wait(t, p.Done())
	require.NotZero(t, p.State().ExitCode, "the mount is read-only")
	require.Contains(t, strings.Join(b.log(t), "\n"), "stdout F value")
	entries, err := os.ReadDir(target)
	require.NoError(t, err)
	require.Empty(t, entries, "nobody else sees the mount")
}

func TestCgroupEndsTheContainer(t *testing.T) {
	groups := process.FindCgroups("flyte-process-test-" + strconv.Itoa(os.Getpid()))
	if groups == nil {
		t.Skip("no cgroup v2 directory may be made here")
	}
	defer groups.Remove()
	b := setup(t)
	b.launcher.Cgroups = groups
	p := b.shell(t, `setsid sh -c 'echo $$ >pid.next; mv pid.next pid; sleep 100' & sleep 100`)
	pid := b.pidFrom(t, "pid")
	wait(t, p.Started())
	procs, err := os.ReadFile(filepath.Join(p.State().Cgroup, "cgroup.procs"))
	require.NoError(t, err)
	require.Contains(t, strings.Fields(string(procs)), strconv.Itoa(pid))
	p.Kill()
	wait(t, p.Done())
	require.False(t, alive(pid))
	require.NoDirExists(t, p.State().Cgroup)
}

func BenchmarkTrue(b *testing.B) {
	self, err := os.Executable()
	require.NoError(b, err)
	launcher := process.Launcher{Executable: self}
	for b.Loop() {
		p, err := launcher.Start(b.TempDir(), process.Command{ID: "x", Path: "/bin/true", Argv: []string{"true"}, Dir: "/"})
		require.NoError(b, err)
		<-p.Done()
	}
}
