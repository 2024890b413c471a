// Package mototest starts moto, a server that speaks AWS's protocols, for tests. Only tests import this package.
package mototest

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Start starts a server for the test and returns its URL. The test is skipped when moto is not installed.
func Start(t *testing.T) string {
	t.Helper()
	program := filepath.Join(root(t), ".cache/moto/bin/moto_server")
	if _, err := os.Stat(program); err != nil {
		t.Skip("moto is not installed: run `make moto`")
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, "-H", "127.0.0.1", "-p", port) // Cleanup ends it
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
	})
	url := "http://" + address
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/moto-api/data.json", http.NoBody)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "moto starts")
	return url
}

// root is the folder of the module, above the package that is tested.
func root(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		require.NotEqual(t, folder, filepath.Dir(folder), "no go.mod above the test")
		folder = filepath.Dir(folder)
	}
}
