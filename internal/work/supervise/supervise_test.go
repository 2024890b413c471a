package supervise_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle/lifecycletest"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

const roleEnv = "SUPERVISE_TEST_ROLE"

// TestMain plays the child, or a parent that is to be killed, when the test binary starts itself.
func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "serve":
		serve()
	case "die":
		fmt.Fprintln(os.Stderr, "no room to live")
		os.Exit(3)
	case "wait":
		<-time.After(time.Hour)
	case "deaf": // ends by SIGKILL only
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stdout, "ignoring SIGTERM")
		<-time.After(time.Hour)
	case "slow": // says something at each SIGUSR1
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGUSR1)
		for fmt.Fprintln(os.Stdout, "a step"); ; fmt.Fprintln(os.Stdout, "a step") {
			<-signals
		}
	case "parent":
		parent()
	default:
		goleak.VerifyTestMain(m)
	}
}

// serve answers on the inherited listener with its process id, until its parent is gone.
func serve() {
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		os.Exit(1)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, os.Getpid())
			conn.Close()
		}
	}()
	ctx, cancel := supervise.UntilOrphaned(context.Background())
	defer cancel()
	<-ctx.Done()
}

func parent() {
	process, address := newServer(os.Args[len(os.Args)-1], "serve")
	if err := process.Start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, process.Pid(), address)
	select {}
}

func newServer(dir, role string) (*supervise.Supervisor, string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		panic(err)
	}
	address := listener.Addr().String()
	spec := specOf(dir, role)
	spec.Files, spec.HoldStdin = []*os.File{file}, true
	return supervise.New(supervise.Config{
		Name: "test", Clock: clock.System{}, Log: zerolog.Nop(),
		Launch: func(ctx context.Context) (*supervise.Process, error) {
			process, err := supervise.Start(spec)
			if err != nil {
				return nil, err
			}
			err = process.AwaitReady(ctx, clock.System{}, supervise.Patience{}, 10*time.Millisecond, func(ctx context.Context) error {
				_, err := ask(ctx, address)
				return err
			})
			if err != nil {
				process.Stop(context.WithoutCancel(ctx))
				return nil, err
			}
			return process, nil
		},
	}), address
}

// specOf runs this test binary in a role.
func specOf(dir, role string) supervise.Spec {
	return supervise.Spec{
		Name: "test", Path: os.Args[0], Args: []string{dir}, Dir: dir, LogFile: filepath.Join(dir, "log"),
		Env: append(os.Environ(), roleEnv+"="+role), StopGrace: 10 * time.Second,
	}
}

// ask returns the id of the process that answers.
func ask(ctx context.Context, address string) (int, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	// A request may wait in the queue of a listener whose process is dead.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line))
}

func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestKilledChildComesBackAtTheSameAddress(t *testing.T) {
	process, address := newServer(t.TempDir(), "serve")
	require.NoError(t, process.Start(t.Context()))
	require.NoError(t, process.Start(t.Context()), "starting it twice does nothing")
	first, err := ask(t.Context(), address)
	require.NoError(t, err)
	require.Equal(t, process.Pid(), first)

	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	var second int
	require.Eventually(t, func() bool {
		second, err = ask(t.Context(), address)
		return err == nil && second != first && process.Pid() == second
	}, 30*time.Second, 10*time.Millisecond)

	require.NoError(t, process.Stop(t.Context()))
	require.True(t, gone(second))
	require.NoError(t, process.Stop(t.Context()), "Stop may be called twice")
	require.ErrorIs(t, process.Start(t.Context()), lifecycle.ErrStopped)
}

func TestFailedStartReportsTheLastOutput(t *testing.T) {
	process, _ := newServer(t.TempDir(), "die")
	err := process.Start(t.Context())
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "no room to live")
	require.NoError(t, process.Stop(t.Context()))
}

func TestChildDiesWithAKilledParent(t *testing.T) {
	dir := t.TempDir()
	parent := exec.Command(os.Args[0], dir)
	parent.Env = append(os.Environ(), roleEnv+"=parent")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var pid int
	var address string
	_, err = fmt.Fscan(out, &pid, &address)
	require.NoError(t, err)
	require.False(t, gone(pid))

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.Eventually(t, func() bool { return gone(pid) }, 30*time.Second, 10*time.Millisecond)
}

func TestProcessThatIgnoresTheStopSignalIsKilled(t *testing.T) {
	spec := specOf(t.TempDir(), "deaf")
	spec.StopGrace = 50 * time.Millisecond
	process, err := supervise.Start(spec)
	require.NoError(t, err)
	require.NoError(t, process.AwaitReady(t.Context(), clock.System{}, supervise.Patience{}, time.Millisecond, func(context.Context) error {
		log, err := os.ReadFile(spec.LogFile)
		if err == nil && len(log) == 0 {
			err = errors.New("nothing said yet")
		}
		return err
	}))
	require.True(t, process.Alive())
	require.False(t, process.Stop(t.Context()))
	require.False(t, process.Alive())
	require.ErrorContains(t, process.Err(), "killed")
	process.Signal(syscall.SIGTERM) // the process is gone: nothing happens
}

func TestReadinessEndsWithTheContext(t *testing.T) {
	process, err := supervise.Start(specOf(t.TempDir(), "deaf"))
	require.NoError(t, err)
	t.Cleanup(process.Kill)
	ctx, cancel := context.WithCancel(t.Context())
	err = process.AwaitReady(ctx, clock.System{}, supervise.Patience{}, time.Millisecond, func(context.Context) error {
		cancel()
		return errors.New("port is closed")
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "port is closed")
}

func TestRunWaitsForTheEnd(t *testing.T) {
	require.ErrorContains(t, supervise.Run(t.Context(), clock.System{}, supervise.Patience{}, specOf(t.TempDir(), "die")), "exit status 3")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, supervise.Run(ctx, clock.System{}, supervise.Patience{}, specOf(t.TempDir(), "deaf")), context.DeadlineExceeded)
	_, err := supervise.Start(supervise.Spec{Name: "test", Path: filepath.Join(t.TempDir(), "missing")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestChildThatMayDieOnceIsNotStartedAgain(t *testing.T) {
	exits := make(chan error, 1)
	dir := t.TempDir()
	supervisor := supervise.New(supervise.Config{
		Name: "test", Once: true, Clock: clock.System{}, Log: zerolog.Nop(), OnExit: func(err error) { exits <- err },
		Launch: func(context.Context) (*supervise.Process, error) { return supervise.Start(specOf(dir, "die")) },
	})
	require.NoError(t, supervisor.Start(t.Context()))
	err := <-exits
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "no room to live")
	require.Zero(t, supervisor.Pid())
	require.NoError(t, supervisor.Stop(t.Context()))
}

func TestSupervisorKeepsTheContractOfParts(t *testing.T) {
	dir := t.TempDir()
	lifecycletest.Stress(t, func() lifecycle.Part {
		return supervise.New(supervise.Config{
			Name: "test", Clock: clock.System{}, Log: zerolog.Nop(),
			Launch: func(context.Context) (*supervise.Process, error) { return supervise.Start(specOf(dir, "wait")) },
		})
	})
}
