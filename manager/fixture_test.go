package manager_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

func TestMain(m *testing.M) {
	pgtest.VerifyMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		// Clients of the API server keep their connections in a cache of the process.
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	)
}

// testConfig uses a database and a directory of the test, and no cluster.
func testConfig(t testing.TB) configuration.Config {
	t.Helper()
	config := configuration.DefaultConfig()
	config.Server.Listen = "127.0.0.1:0"
	config.Database.URL = pgtest.URL(pgtest.Schemas(t, manager.Schemas()...))
	config.Database.MinIdleConns = 0
	config.Storage.URL = t.TempDir()
	config.Executor.StartupWait = 0 // for a cluster that is unreachable
	return config
}

// nowhere is an API server that does not answer.
func nowhere(t testing.TB) *rest.Config {
	t.Helper()
	return &rest.Config{Host: "http://" + freeAddress(t)}
}

// freeAddress returns a loopback address whose port was free a moment ago.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// startServer runs a server for the test and returns its URL.
func startServer(t *testing.T, config configuration.Config, cluster *rest.Config) string {
	t.Helper()
	return startServerAt(t, nil, config, cluster)
}

// startServerAt is startServer with a clock of its own; nil is the machine's.
func startServerAt(t *testing.T, clk clock.Clock, config configuration.Config, cluster *rest.Config) string {
	t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
	server, err := manager.Complete(t.Context(), config, manager.Options{Logger: log, REST: cluster, Clock: clk})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(t, server.Start(t.Context()))
	return "http://" + server.Addr()
}
