package child_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/demo/child"
)

const roleEnv = "CHILD_TEST_ROLE"

// TestMain plays the child, or a parent that is to be killed, when the test binary starts itself.
func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "serve":
		serve()
	case "die":
		fmt.Fprintln(os.Stderr, "no room to live")
		os.Exit(3)
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
	ctx, cancel := child.UntilOrphaned(context.Background())
	defer cancel()
	<-ctx.Done()
}

func parent() {
	process, address := start(os.Args[len(os.Args)-1], "serve")
	if err := process.Start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, process.Pid(), address)
	select {}
}

func start(dir, role string) (*child.Process, string) {
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
	return child.New(child.Config{
		Name: "test", Path: os.Args[0], Args: []string{dir}, Dir: dir, Files: []*os.File{file}, LogFile: filepath.Join(dir, "log"),
		Env:   append(os.Environ(), roleEnv+"="+role),
		Ready: func(ctx context.Context) error { _, err := ask(ctx, address); return err },
		Log:   zerolog.Nop(),
	}), address
}

// ask gives the process id of who answers.
func ask(ctx context.Context, address string) (int, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	// A question may wait in the queue of a listener whose process is dead.
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
	process, address := start(t.TempDir(), "serve")
	require.NoError(t, process.Start(t.Context()))
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
}

func TestChildThatNeverWorksIsAnErrorWithItsLastWords(t *testing.T) {
	process, _ := start(t.TempDir(), "die")
	err := process.Start(t.Context())
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "no room to live")
	require.NoError(t, process.Stop(t.Context()))
}

func TestChildGoesWithAKilledParent(t *testing.T) {
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
