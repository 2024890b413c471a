package obs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/internal/obs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log, err := obs.NewLogger(obs.LogConfig{Level: "warn", Format: "auto"}, &out)
	require.NoError(t, err)
	log.Info().Msg("hidden")
	log.Warn().Err(errors.New("broken")).Msg("seen")
	var line map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &line), "one JSON line, since this is not a terminal")
	require.Equal(t, "seen", line["message"])
	require.Equal(t, "broken", line["error"])
	require.Equal(t, "warn", line["level"])
	require.Regexp(t, `Z$`, line["time"])

	for field, config := range map[string]obs.LogConfig{
		"level": {Level: "loud", Format: "json"}, "format": {Level: "info", Format: "xml"},
	} {
		_, err := obs.NewLogger(config, &out)
		require.ErrorContains(t, err, field)
	}
}

func TestTelemetry(t *testing.T) {
	telemetry, err := obs.NewTelemetry(t.Context(), obs.DefaultTelemetryConfig(), "test", nil)
	require.NoError(t, err)
	counter, err := telemetry.Meter.Meter("test").Int64Counter("flyte.things")
	require.NoError(t, err)
	counter.Add(t.Context(), 3)
	_, span := telemetry.Tracer.Tracer("test").Start(t.Context(), "x")
	require.False(t, span.IsRecording(), "without an endpoint nothing is recorded")

	further := prometheus.NewRegistry()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "of_another_registry"})
	further.MustRegister(gauge)
	recorder := httptest.NewRecorder()
	telemetry.Handler(further).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{"flyte_things_total", "go_goroutines", "of_another_registry"} {
		require.Contains(t, recorder.Body.String(), want)
	}
	require.NoError(t, telemetry.Shutdown(t.Context()))
	require.NoError(t, telemetry.Shutdown(t.Context()))
}

func TestTelemetryConfigNamesTheField(t *testing.T) {
	for field, change := range map[string]func(*obs.TelemetryConfig){
		"traceRatio":   func(c *obs.TelemetryConfig) { c.TraceRatio = 2 },
		"otlpEndpoint": func(c *obs.TelemetryConfig) { c.OTLPEndpoint = "http://x:4317" },
		"serviceName":  func(c *obs.TelemetryConfig) { c.ServiceName = "" },
	} {
		config := obs.DefaultTelemetryConfig()
		change(&config)
		_, err := obs.NewTelemetry(t.Context(), config, "test", nil)
		require.ErrorContains(t, err, field)
	}
}
