package main

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

// spawn starts a program that dies with this process; its output goes to a file in dir.
func spawn(dir, name, program string, env []string, args ...string) (*supervise.Process, error) {
	return supervise.Start(supervise.Spec{
		Name: name, Path: program, Args: args, Env: append(os.Environ(), env...), Dir: dir,
		LogFile: filepath.Join(dir, name+".log"), StopGrace: stopGrace,
	})
}

// stopProcess stops a process, if it was started.
func stopProcess(process *supervise.Process) {
	if process != nil {
		process.Stop(context.Background())
	}
}

func awaitReady(ctx context.Context, process *supervise.Process, ready func(context.Context) error) error {
	return process.AwaitReady(ctx, clock.System{}, supervise.Patience{}, 10*time.Millisecond, ready)
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error { return clock.Sleep(ctx, clock.System{}, d) }
