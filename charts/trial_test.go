package charts_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestTheStoreOfATrial runs the store with the arguments and the credentials that the chart renders, and lets the server check
// it with its own.
func TestTheStoreOfATrial(t *testing.T) {
	program, err := filepath.Abs("../.bin/versitygw")
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Skip("versitygw is not built: run `make s3-server`")
	}
	all := objects(t, render(t, "--set", "trial=true"))
	secret, _, err := unstructured.NestedStringMap(one(t, all, "Secret", release+"-trial").Object, "stringData")
	require.NoError(t, err)
	store := containers(t, one(t, all, "StatefulSet", release+"-store"))
	require.Equal(t, []string{"mkdir", "-p", "/data/flyte"}, store[0].Command, "a directory is a bucket")
	var environment []string
	for _, variable := range store[1].Env {
		environment = append(environment, variable.Name+"="+secret[variable.ValueFrom.SecretKeyRef.Key])
	}
	server := containers(t, one(t, all, "Deployment", release))
	require.Contains(t, strings.Join(server[0].Command, " "), "pg_isready", "the server's first start finds the database")
	for _, variable := range server[1].Env {
		if variable.ValueFrom != nil {
			t.Setenv(variable.Name, secret[variable.ValueFrom.SecretKeyRef.Key])
		}
	}
	endpoint := startStore(t, program, store[1].Args, environment)

	path := filepath.Join(t.TempDir(), "flyte.yaml")
	require.NoError(t, os.WriteFile(path, []byte(serverFile(t, all)), 0o600))
	config, err := configuration.Load(path, []string{"storage.s3.endpoint=" + endpoint, "storage.s3.publicEndpoint=" + endpoint})
	require.NoError(t, err)
	require.Contains(t, config.Executor.Pod.DefaultEnv, "FLYTE_AWS_SECRET_ACCESS_KEY="+secret["secretAccessKey"], "tasks reach the store")
	config.Target = configuration.TargetAPI
	config.Database.URL, config.Database.PasswordFile, config.Database.ConnectTimeout = "postgres://flyte@127.0.0.1:1/flyte", "", time.Second
	findings := manager.Examine(t.Context(), config, nil)
	at := slices.IndexFunc(findings, func(f manager.Finding) bool { return f.What == "storage" })
	require.NoError(t, findings[at].Err)
	require.Contains(t, findings[at].Detail, "wrote, read and deleted an object below s3://flyte")

	encoded := base64.StdEncoding.EncodeToString([]byte(secret["password"]))
	require.NotContains(t, serverFile(t, all), encoded)
}

// startStore returns the endpoint of a store that keeps its data in a directory of the test.
func startStore(t *testing.T, program string, args, environment []string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "flyte"), 0o700))
	for range 5 { // the port may be taken between choosing and using it
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := listener.Addr().String()
		require.NoError(t, listener.Close())
		mine := slices.Clone(args)
		for i := range mine {
			mine[i] = strings.NewReplacer(":7070", address, "/data", dir).Replace(mine[i])
		}
		command := exec.CommandContext(context.WithoutCancel(t.Context()), program, mine...)
		command.Env = environment
		var output bytes.Buffer
		command.Stdout, command.Stderr = &output, &output
		require.NoError(t, command.Start())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = command.Wait() }()
		t.Cleanup(func() { _ = command.Process.Kill(); <-ended })
		if listens(t, address, ended) {
			return "http://" + address
		}
		t.Log(output.String())
	}
	require.FailNow(t, "the store does not start")
	return ""
}

// listens waits until a program listens, and reports whether it does before it ends.
func listens(t *testing.T, address string, ended <-chan struct{}) bool {
	t.Helper()
	for {
		if connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
			return connection.Close() == nil
		}
		select {
		case <-ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}
