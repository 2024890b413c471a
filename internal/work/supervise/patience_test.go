package supervise_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

var errNotYet = errors.New("not yet")

// lookStep is the time between two looks at a program in these tests.
const lookStep = 10 * time.Second

// stepping moves a clock on whenever someone waits for it.
func stepping(t *testing.T) *clock.Fake {
	clk := clock.NewFake(time.Unix(1000, 0))
	ended := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-ended:
				return
			default:
			}
			if clk.Timers() > 0 {
				clk.Step(lookStep)
			}
			runtime.Gosched()
		}
	}()
	t.Cleanup(func() { close(ended); <-stopped })
	return clk
}

func startRole(t *testing.T, role string) (*supervise.Process, supervise.Spec) {
	spec := specOf(t.TempDir(), role)
	process, err := supervise.Start(spec)
	require.NoError(t, err)
	t.Cleanup(process.Kill)
	return process, spec
}

func written(t *testing.T, spec supervise.Spec) int64 {
	info, err := os.Stat(spec.LogFile)
	require.NoError(t, err)
	return info.Size()
}

// A busy machine makes a start slow. The supervisor waits for as long as it makes progress, and reports it.
func TestSlowProgramIsWaitedFor(t *testing.T) {
	process, spec := startRole(t, "slow")
	var told []string
	patience := supervise.Patience{
		Silence: 2 * lookStep, Total: time.Hour, Waiting: func(text string) { told = append(told, text) },
	}
	steps, size := 0, int64(0)
	err := process.AwaitReady(t.Context(), stepping(t), patience, time.Second, func(context.Context) error {
		require.Eventually(t, func() bool { return written(t, spec) > size }, 30*time.Second, time.Millisecond)
		size = written(t, spec)
		if steps++; steps == 50 {
			return nil
		}
		process.Signal(syscall.SIGUSR1)
		return errNotYet
	})
	require.NoError(t, err, "500 s, of which none is silent")
	require.NotEmpty(t, told)
	require.True(t, strings.HasPrefix(told[0], "test for 10s: not yet"), told[0])
}

func TestProgramThatStandsStillIsGivenUp(t *testing.T) {
	process, _ := startRole(t, "wait")
	err := process.AwaitReady(t.Context(), stepping(t), supervise.Patience{Silence: time.Minute, Total: time.Hour}, time.Second,
		func(context.Context) error { return errNotYet })
	require.ErrorIs(t, err, supervise.ErrStuck)
	require.ErrorIs(t, err, errNotYet)
	require.ErrorContains(t, err, "no progress for 1m0s")

	spec := specOf(t.TempDir(), "wait")
	err = supervise.Run(t.Context(), stepping(t), supervise.Patience{Silence: time.Minute, Total: time.Hour}, spec)
	require.ErrorIs(t, err, supervise.ErrStuck)
}

func TestProgramThatNeverEndsIsGivenUp(t *testing.T) {
	process, spec := startRole(t, "slow")
	size := int64(0)
	err := process.AwaitReady(t.Context(), stepping(t), supervise.Patience{Silence: time.Minute, Total: 5 * time.Minute}, time.Second,
		func(context.Context) error {
			require.Eventually(t, func() bool { return written(t, spec) > size }, 30*time.Second, time.Millisecond)
			size = written(t, spec)
			process.Signal(syscall.SIGUSR1)
			return errNotYet
		})
	require.ErrorIs(t, err, supervise.ErrStuck)
	require.ErrorContains(t, err, "5m0s")
}
