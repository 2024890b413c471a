package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret/secretconnect"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/bundle"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/notifications"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
)

func TestMain(m *testing.M) {
	pgtest.VerifyMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	)
}

// planted starts every secret of the test.
const planted = "hush-hush-"

func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// withSecrets has one wherever a configuration can.
func withSecrets(t *testing.T) configuration.Config {
	t.Helper()
	config := configuration.DefaultConfig()
	address, err := url.Parse(pgtest.URL(pgtest.Schemas(t, manager.Schemas()...)))
	require.NoError(t, err)
	if address.User != nil {
		address.User = url.UserPassword(address.User.Username(), planted+"database") // the test's Postgres asks for none
	}
	config.Database.URL = address.String()
	config.Database.MinIdleConns = 0
	config.Server.Listen = free(t)
	config.Telemetry.DebugListen = free(t)
	config.Storage.URL = t.TempDir()
	config.Storage.SigningKey = planted + strings.Repeat("storage", 8)
	config.Storage.S3.AccessKeyID, config.Storage.S3.SecretAccessKey = "someone", planted+"s3"
	config.Auth.InternalToken = planted + "internal"
	config.Target = configuration.TargetAPI
	config.Executor.Pod.DefaultEnv = []string{"AWS_SECRET_ACCESS_KEY=" + planted + "env"}
	config.Runs.Webhooks.Proxy = "http://proxy:" + planted + "proxy@127.0.0.1:1"
	config.EventStream.Sinks = []cloudevents.Sink{{
		Name: "lake", Type: "http", URL: "http://127.0.0.1:1/" + planted + "in-the-path", Headers: map[string]string{"X-Key": planted + "header"},
		Password: planted + "sink",
	}}
	config.Notifications.Deliveries = []notifications.Delivery{{
		Name: "chat", Type: "webhook", URL: "https://chat.example/" + planted + "delivery", Headers: map[string]string{"X-Key": planted + "delivered"},
	}}
	t.Setenv("FLYTE_SOMETHING_TOKEN", planted+"environment")
	return config
}

// collect returns the files of a bundle by name.
func collect(t *testing.T, options bundle.Options) (files map[string]string, progress string) {
	t.Helper()
	var out, lines bytes.Buffer
	options.Progress, options.Clock, options.Version = &lines, clock.System{}, "test"
	require.NoError(t, bundle.Write(t.Context(), options, &out))
	unzipped, err := gzip.NewReader(&out)
	require.NoError(t, err)
	reader := tar.NewReader(unzipped)
	files = map[string]string{}
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files, lines.String()
		}
		require.NoError(t, err)
		body, err := io.ReadAll(reader)
		require.NoError(t, err)
		if unzipped, err := gzip.NewReader(bytes.NewReader(body)); err == nil { // a profile
			body, err = io.ReadAll(unzipped)
			require.NoError(t, err)
		}
		files[strings.TrimPrefix(header.Name, "flyte-support/")] = string(body)
	}
}

func TestABundleHasEverythingButSecrets(t *testing.T) {
	config := withSecrets(t)
	log := filepath.Join(t.TempDir(), "server.log")
	file, err := os.Create(log)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	logger, level, err := obs.NewAdjustableLogger(obs.DefaultLogConfig(), file)
	require.NoError(t, err)
	server, err := manager.Complete(t.Context(), config, manager.Options{Logger: logger, LogLevel: level, REST: &rest.Config{Host: "http://127.0.0.1:1"}, Version: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(t, server.Start(t.Context()))
	// A row of a user's secret, where the backend keeps one; without a backend the call is refused.
	_, _ = secretconnect.NewSecretServiceClient(http.DefaultClient, "http://"+server.Addr()).CreateSecret(t.Context(), &secret.CreateSecretRequest{
		Id:         &secret.SecretIdentifier{Name: "of-a-user"},
		SecretSpec: &secret.SecretSpec{Value: &secret.SecretSpec_StringValue{StringValue: planted + "of-a-user"}},
	})
	fmt.Fprintf(file, "{\"authorization\":\"Bearer eyJ-hush-hush-bearer\",\"url\":\"postgres://flyte:hush-hush-logged@db/flyte\"}\npassword=hush-hush-written\n")

	files, progress := collect(t, bundle.Options{Config: config, Logs: []string{log}})
	for name, want := range map[string]string{
		"version.txt": "flyte-binary test", "config.yaml": "database:", "environment.txt": "FLYTE_SOMETHING_TOKEN is set", "doctor.txt": "ok    database",
		"logs/server.log": "authorization", "server/healthz.txt": "ok", "server/readyz.txt": "database: ok", "server/metrics.txt": "flyte_build_info",
		"server/system.json": `"components"`, "server/queues.json": `"default"`, "server/goroutines.txt": "goroutine ", "server/heap.pprof": "inuse_space",
		"database/migrations.txt": "runs\t1\t", "database/tables.txt": "public.actions\t", "database/queues.txt": "queue\twaiting\tlive",
		"database/activity.txt": "pid\t", "database/leases.txt": "admission", "database/server.txt": "max_connections",
	} {
		require.Contains(t, files[name], want, name)
		require.Contains(t, progress, name+": ", name)
	}
	for name, body := range files {
		require.NotContains(t, body, "hush-hush", name)
		require.NotContains(t, name, ".error.txt", body)
	}
	require.NotContains(t, progress, "hush-hush")
}

// People collect a bundle because something is down.
func TestABundleIsCompleteWhileEverythingIsDown(t *testing.T) {
	config := withSecrets(t)
	address, err := url.Parse(config.Database.URL)
	require.NoError(t, err)
	address.Host, address.RawQuery = free(t), ""
	address.User = url.UserPassword("flyte", planted+"database")
	config.Database.URL = address.String()
	config.Storage.URL = filepath.Join(t.TempDir(), "not", "\x00there")
	files, progress := collect(t, bundle.Options{Config: config, Logs: []string{filepath.Join(t.TempDir(), "none.log")}})
	require.Contains(t, files, "version.txt")
	require.Contains(t, files["config.yaml"], "database:")
	require.Contains(t, files["doctor.txt"], "FAIL  database")
	for _, name := range []string{"database/tables.txt", "server/metrics.txt", "server/system.json", "server/goroutines.txt", "logs/none.log", "doctor.txt"} {
		require.NotEmpty(t, files[name+".error.txt"], name)
		require.Contains(t, progress, name+": ")
	}
	for name, body := range files {
		require.NotContains(t, body, "hush-hush", name)
	}
}
