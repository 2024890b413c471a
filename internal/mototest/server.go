// Package mototest starts moto, a server that speaks AWS's protocols, for tests. Only tests import this package.
package mototest

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	require.NoError(t, listener.Close())
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	command := exec.Command(program, "-H", "127.0.0.1", "-p", strconv.Itoa(port))
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
	})
	url := "http://127.0.0.1:" + strconv.Itoa(port)
	require.Eventually(t, func() bool {
		answer, err := http.Get(url + "/moto-api/data.json")
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
