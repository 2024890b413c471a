package stack

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// stopGrace is how long a process may take to end after SIGTERM.
const stopGrace = 20 * time.Second

// Spawn starts a program that dies with this process; its output goes to a file in dir.
func Spawn(dir, name, program string, env []string, args ...string) (*supervise.Process, error) {
	return supervise.Start(supervise.Spec{
		Name: name, Path: program, Args: args, Env: append(os.Environ(), env...), Dir: dir,
		LogFile: filepath.Join(dir, name+".log"), StopGrace: stopGrace,
	})
}

// StopProcess stops a process, if it was started.
func StopProcess(process *supervise.Process) {
	if process != nil {
		process.Stop(context.Background())
	}
}

// AwaitReady asks every 10 ms until a process is ready. It fails when the process ends or the context does.
func AwaitReady(ctx context.Context, process *supervise.Process, ready func(context.Context) error) error {
	return process.AwaitReady(ctx, clock.System{}, supervise.Patience{}, 10*time.Millisecond, ready)
}

// Pause waits, unless the context ends first.
func Pause(ctx context.Context, d time.Duration) error { return clock.Sleep(ctx, clock.System{}, d) }
