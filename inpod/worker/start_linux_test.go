package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

// startAsChild starts processes, one after the other, until ten were ended by the signals that its group gets meanwhile. Each of them
// must be lost, since nothing of it has run.
func startAsChild(dir string) error {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM) // caught, as the worker does; what it ignores its children would ignore, too
	one, err := New(Config{
		ID: "w1", Token: "secret", Grace: time.Second, Endpoint: "http://localhost:1", Concurrency: 1, Dir: dir, Scratch: dir, Environ: []string{"PATH=" + os.Getenv("PATH")},
	}, nil, zerolog.Nop())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			_ = syscall.Kill(0, syscall.SIGTERM)
		}
	}()
	for lost, n := 0, int64(1); lost < 10; n++ {
		if n == 20_000 {
			return errors.New("no process was struck while it started")
		}
		ended := newAttempt(one, &workerv1.Assignment{Id: id{n, 1}.proto(), Args: []string{"true"}}).run()
		switch {
		case ended.GetEnd() == workerv1.End_END_LOST:
			lost++
		case ended.GetEnd() != workerv1.End_END_EXITED || ended.GetCode() != 0:
			return fmt.Errorf("a process that had not run its program counts as %v", ended)
		}
	}
	return nil
}

// TestASignalAtTheStart: a node that ends the pod of a worker signals its group. An attempt that is just being forked is still in it, and
// ends without having run anything: that is not a failure of the task.
func TestASignalAtTheStart(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), signalEnv+"="+filepath.Clean(t.TempDir()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
}
