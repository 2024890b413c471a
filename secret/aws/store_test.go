package aws_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/secret/aws"
	"github.com/flyte-binary/flyte-binary/secret/backendtest"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// moto starts a server that speaks AWS's protocol, and returns its URL.
func moto(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs("../../.cache/moto/bin/moto_server")
	require.NoError(t, err)
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

func open(t *testing.T, endpoint string) *aws.Store {
	t.Helper()
	config := aws.DefaultConfig()
	config.Region, config.Endpoint, config.AccessKeyID, config.SecretAccessKey = "eu-west-1", endpoint, "test", "test"
	store, err := aws.New(t.Context(), config)
	require.NoError(t, err)
	return store
}

func TestContract(t *testing.T) {
	backendtest.Contract(t, open(t, moto(t)), backendtest.Options{MaxValue: 64 << 10, AnyPageSize: true})
}

func TestAnOutage(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	store := open(t, "http://"+listener.Addr().String())
	var unavailable *entry.UnavailableError
	err = store.Create(ctx, backendtest.ID("p", "d", "key"), backendtest.Text("hidden"))
	require.ErrorAs(t, err, &unavailable)
	require.NotContains(t, err.Error(), "hidden")
}

func TestConfigNamesTheWrongField(t *testing.T) {
	for field, change := range map[string]func(*aws.Config){
		"region":      func(c *aws.Config) { c.Region = "" },
		"prefix":      func(c *aws.Config) { c.Prefix = "flyte/" },
		"accessKeyID": func(c *aws.Config) { c.AccessKeyID = "x" },
	} {
		config := aws.DefaultConfig()
		config.Region = "eu-west-1"
		require.NoError(t, config.Validate())
		change(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}
