package goclient_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// endpoint is host:port of the server: FLYTE_ENDPOINT, or a demo that lasts as long as the test.
func endpoint(t *testing.T) string {
	t.Helper()
	if given := os.Getenv("FLYTE_ENDPOINT"); given != "" {
		_, address, found := strings.Cut(given, "://")
		if !found {
			return given
		}
		return strings.TrimLeft(address, "/")
	}
	return startDemo(t)
}

var readyLine = regexp.MustCompile(`Ready in \S+: http://(\S+)`)

func startDemo(t *testing.T) string {
	t.Helper()
	// The tasks here are shell scripts; the environment only has to look like one with the SDK.
	python := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(python, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(python, "bin", "a0"), []byte("#!/bin/sh\n"), 0o755))

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.Command(program(t), "demo", "--ephemeral", "--listen", "127.0.0.1:0", "--python", python)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		said := &strings.Builder{}
		for lines := bufio.NewScanner(output); lines.Scan(); {
			fmt.Fprintln(said, lines.Text())
			if found := readyLine.FindStringSubmatch(lines.Text()); found != nil {
				ready <- found[1]
			}
		}
		_, _ = io.Copy(io.Discard, output)
		ended <- fmt.Errorf("%w\n%s", cmd.Wait(), said)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		select {
		case err := <-ended:
			if t.Failed() {
				t.Log(err)
			}
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			t.Error("the demo did not stop")
		}
	})
	select {
	case address := <-ready:
		return address
	case err := <-ended:
		ended <- err
		require.NoError(t, err, "the demo ended")
	case <-ctx.Done():
		require.Fail(t, "the demo did not become ready")
	}
	return ""
}

// program is the built demo: FLYTE_BINARY_DEMO, else the one in bin.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("FLYTE_BINARY_DEMO"); path != "" {
		require.FileExists(t, path, "FLYTE_BINARY_DEMO")
		return path
	}
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", "flyte-binary"))
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skip("no demo program: run `make build-demo` first, or set FLYTE_ENDPOINT")
	}
	return path
}
