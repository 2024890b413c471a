package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// What this program does as a child of a test, which must be able to stop it.
const (
	workerEnv   = "FLYTE_TEST_WORKER"   // works, with the configuration in the variable
	deadlineEnv = "FLYTE_TEST_DEADLINE" // sets a deadline and stops itself
	concealEnv  = "FLYTE_TEST_CONCEAL"  // conceals its token
	signalEnv   = "FLYTE_TEST_SIGNAL"   // starts attempts while its group gets signals
)

func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(workerEnv) != "":
		err = workAsChild(os.Getenv(workerEnv))
	case os.Getenv(deadlineEnv) != "":
		err = stopAsChild(os.Getenv(deadlineEnv))
	case os.Getenv(concealEnv) != "":
		err = concealAsChild()
	case os.Getenv(signalEnv) != "":
		err = startAsChild(os.Getenv(signalEnv))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func workAsChild(text string) error {
	var cfg Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	var err error
	if cfg.Deadline, err = NewDeadline(); err != nil {
		return err
	}
	one, err := New(cfg, nil, zerolog.New(os.Stderr))
	if err != nil {
		return err
	}
	return one.Run(context.Background())
}

func stopAsChild(how string) error {
	d, err := NewDeadline()
	if err != nil {
		return err
	}
	if err := d.Set(time.Hour); err != nil {
		return err
	}
	if how == "clear" {
		return d.Clear()
	}
	if how == "past" {
		if err := d.Set(-time.Second); err != nil {
			return err
		}
	} else if err := d.Set(100 * time.Millisecond); err != nil {
		return err
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return err
	}
	<-time.After(time.Hour) // another thread may take the signal: this one must not end the process before it is stopped
	return nil
}

// child starts this program again.
func child(t *testing.T, variable string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), variable), os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func killed(t *testing.T, cmd *exec.Cmd) bool {
	t.Helper()
	_ = cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	return status.Signaled() && status.Signal() == syscall.SIGKILL
}

func TestADeadlineEndsAStoppedProcess(t *testing.T) {
	require.True(t, killed(t, child(t, deadlineEnv+"=set")))
	require.True(t, killed(t, child(t, deadlineEnv+"=past")))
	require.False(t, killed(t, child(t, deadlineEnv+"=clear")))
}

// Only the worker's own process is stopped, so its attempt keeps running. Without the deadline, it would still run after the lease
// expires, when the server starts the next attempt on another worker.
func TestAWorkerThatIsStoppedPastItsLease(t *testing.T) {
	f, cfg := newServer(t, 10*time.Second)
	text, err := json.Marshal(cfg)
	require.NoError(t, err)
	began := time.Now()
	cmd := child(t, workerEnv+"="+string(text))
	f.until("the first message", func() bool { return f.stream != nil })
	f.assign(1, f.bundle("tasks", tasks), "tasks", "waits")
	pid := f.says(1, "waits")
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	require.True(t, alive(pid), "the attempt runs on while the lease lasts")
	require.True(t, killed(t, cmd), "the kernel ends the worker, after %s", time.Since(began))
	require.Eventually(t, func() bool { return !alive(pid) }, patience, time.Millisecond, "its attempt ends with it")
}

// deadlines records what is set.
type deadlines struct {
	set      int
	standing bool
}

func (d *deadlines) Set(in time.Duration) error {
	d.set++
	d.standing = in > 0
	return nil
}

func (d *deadlines) Clear() error {
	d.standing = false
	return nil
}

func TestAWorkerWithoutWorkHasNoDeadline(t *testing.T) {
	d := &deadlines{}
	f := newLeased(t, 5*time.Second, func(c *Config) { c.Deadline = d })
	standing := func() (set int, is bool) {
		f.worker.mu.Lock()
		defer f.worker.mu.Unlock()
		return d.set, d.standing
	}
	set, is := standing()
	require.Zero(t, set, "there is no work")
	require.False(t, is)
	f.assign(1, f.bundle("tasks", tasks), "tasks", "waits")
	f.running(1)
	_, is = standing()
	require.True(t, is)
	require.Eventually(t, func() bool { set, _ := standing(); return set > 2 }, patience, time.Millisecond, "each renewal moves it")
	f.sendStop(1, 0)
	f.ended(1)
	_, is = standing()
	require.False(t, is)
}
