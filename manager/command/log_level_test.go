package command_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

func TestTheLogLevelOfARunningServer(t *testing.T) {
	t.Cleanup(func() { zerolog.SetGlobalLevel(zerolog.TraceLevel) })
	var written bytes.Buffer
	log, level, err := obs.NewAdjustableLogger(obs.DefaultLogConfig(), zerolog.SyncWriter(&written))
	require.NoError(t, err)
	config := configuration.DefaultConfig()
	config.Target = configuration.TargetAPI
	config.Server.Listen = "127.0.0.1:0"
	config.Database.URL, config.Storage.URL = pgtest.URL(pgtest.Schemas(t, manager.Schemas()...)), t.TempDir()
	config.Database.MinIdleConns = 0
	server, err := manager.Complete(t.Context(), config, manager.Options{Logger: zerolog.Nop(), LogLevel: level, REST: &rest.Config{}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(t, server.Start(t.Context()))
	url := "http://" + server.Addr()

	service := log.With().Str("service", "handed out before").Logger()
	service.Debug().Msg("hidden")
	out, err := run(t, "log-level", "--url", url)
	require.NoError(t, err)
	require.Equal(t, "level info (configured: info)\n", out)
	out, err = run(t, "log-level", "debug", "--url", url)
	require.NoError(t, err)
	require.Equal(t, "level debug (configured: info)\n", out)
	service.Debug().Msg("seen")
	answer, err := insightv1connect.NewSystemServiceClient(http.DefaultClient, url).GetSystem(t.Context(), &insightv1.GetSystemRequest{})
	require.NoError(t, err)
	shown := ""
	for _, setting := range answer.GetSettings() {
		if setting.GetKey() == "logging.level" {
			shown = setting.GetValue()
		}
	}
	require.Equal(t, "debug (changed while the process runs; configured: info)", shown)

	_, err = run(t, "log-level", "loud", "--url", url)
	require.ErrorContains(t, err, `"loud" is not one of trace, debug, info, warn, error`)
	_, err = run(t, "log-level", strings.Repeat("x", 99), "--url", url)
	require.ErrorContains(t, err, "is not a level")
	out, err = run(t, "log-level", "--reset", "--url", url)
	require.NoError(t, err)
	require.Equal(t, "level info (configured: info)\n", out)
	service.Debug().Msg("hidden again")
	require.Contains(t, written.String(), "seen")
	require.NotContains(t, written.String(), "hidden")

	_, err = run(t, "log-level", "--url", "http://127.0.0.1:1")
	require.ErrorContains(t, err, "--url names another")
}
