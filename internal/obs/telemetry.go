package obs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/obs/tracelink"
)

// TelemetryConfig configures the export of traces and metrics. Metrics are always served at /metrics.
type TelemetryConfig struct {
	// OTLPEndpoint is host:port of an OpenTelemetry collector that speaks gRPC. Empty, the default, means that of the
	// standard variables OTEL_EXPORTER_OTLP_ENDPOINT and the others of their kind; without them nothing is exported.
	OTLPEndpoint string `config:"otlpEndpoint"`
	// OTLPInsecure connects to the collector without TLS.
	OTLPInsecure bool `config:"otlpInsecure"`
	// TraceRatio is the share of traces that are recorded, from 0 to 1. Defaults to 1; it has no effect without an
	// endpoint.
	TraceRatio float64 `config:"traceRatio"`
	// ServiceName names this process to the collector. Defaults to flyte-binary.
	ServiceName string `config:"serviceName"`
	// DebugListen serves profiles of the process (pprof) at this address, host:port. It has no authentication, so it
	// belongs on loopback. Empty, the default, turns it off.
	DebugListen string `config:"debugListen"`
}

// DefaultTelemetryConfig has every default.
func DefaultTelemetryConfig() TelemetryConfig {
	return TelemetryConfig{TraceRatio: 1, ServiceName: "flyte-binary"}
}

// Validate names the field that is wrong.
func (c TelemetryConfig) Validate() error {
	var found invalid.Fields
	found.If(c.TraceRatio < 0 || c.TraceRatio > 1, "traceRatio: must be between 0 and 1")
	found.If(strings.Contains(c.OTLPEndpoint, "/"), "otlpEndpoint: must be host:port, without a scheme")
	found.If(c.ServiceName == "", "serviceName: required")
	if c.DebugListen != "" {
		if _, _, err := net.SplitHostPort(c.DebugListen); err != nil {
			found.Add("debugListen: want host:port, got %q", c.DebugListen)
		}
	}
	return found.Err()
}

// exports says whether there is an endpoint, in the configuration or in the standard variables.
func (c TelemetryConfig) exports(variable func(string) string) bool {
	if strings.EqualFold(variable("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	return c.OTLPEndpoint != "" || variable("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Telemetry has the providers of the process.
type Telemetry struct {
	// Exports says that there is an endpoint.
	Exports bool
	// Tracer creates spans; without an endpoint it creates none.
	Tracer trace.TracerProvider
	// Meter creates instruments that are exported to Registry, and to the endpoint if there is one.
	Meter metric.MeterProvider
	// Registry is what /metrics serves.
	Registry *prometheus.Registry

	made     *instruments
	shutdown []func(context.Context) error
}

// NewTelemetry creates the providers. version is the version of the program; labels limits those of its metrics.
func NewTelemetry(ctx context.Context, config TelemetryConfig, version string, labels Labels) (*Telemetry, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t := &Telemetry{
		Tracer: tracenoop.NewTracerProvider(), Registry: prometheus.NewRegistry(), made: &instruments{labels: labels},
	}
	t.Registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(t.Registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("telemetry: create metrics: %w", err)
	}
	origin, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", config.ServiceName), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	meters := []sdkmetric.Option{sdkmetric.WithReader(exporter), sdkmetric.WithResource(origin), sdkmetric.WithView(t.made.view)}
	if t.Exports = config.exports(os.Getenv); t.Exports {
		pushed, err := t.export(ctx, config, origin)
		if err != nil {
			return nil, errors.Join(err, t.Shutdown(ctx))
		}
		meters = append(meters, sdkmetric.WithReader(pushed))
	}
	provider := sdkmetric.NewMeterProvider(meters...)
	t.Meter = provider
	t.shutdown = append(t.shutdown, provider.Shutdown)
	return t, nil
}

// export sets the tracer up and returns the reader that pushes metrics.
func (t *Telemetry) export(
	ctx context.Context, config TelemetryConfig, origin *resource.Resource,
) (sdkmetric.Reader, error) {
	var traces []otlptracegrpc.Option
	var metrics []otlpmetricgrpc.Option
	if config.OTLPEndpoint != "" {
		traces, metrics = append(traces, otlptracegrpc.WithEndpoint(config.OTLPEndpoint)), append(metrics, otlpmetricgrpc.WithEndpoint(config.OTLPEndpoint))
	}
	if config.OTLPInsecure {
		traces, metrics = append(traces, otlptracegrpc.WithInsecure()), append(metrics, otlpmetricgrpc.WithInsecure())
	}
	traced, err := otlptracegrpc.New(ctx, traces...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: export traces: %w", err)
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithBatcher(traced), sdktrace.WithResource(origin), sdktrace.WithIDGenerator(tracelink.IDs{})}
	if os.Getenv("OTEL_TRACES_SAMPLER") == "" { // else the provider reads it
		options = append(options, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(config.TraceRatio))))
	}
	provider := sdktrace.NewTracerProvider(options...)
	t.Tracer = provider
	t.shutdown = append(t.shutdown, provider.Shutdown)
	pushed, err := otlpmetricgrpc.New(ctx, metrics...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: export metrics: %w", err)
	}
	return sdkmetric.NewPeriodicReader(pushed), nil
}

// Instruments are the metrics that were made so far, by name: what Registry will serve once they have values. Metrics of
// libraries are not among them unless the labels name them.
func (t *Telemetry) Instruments() []Instrument { return t.made.all() }

// Handler serves Registry and further gatherers, such as controller-runtime's, in the Prometheus format, or in that of
// OpenMetrics, which has the ids of traces with the latencies, to scrapers that ask for it.
func (t *Telemetry) Handler(further ...prometheus.Gatherer) http.Handler {
	all := append(prometheus.Gatherers{t.Registry}, further...)
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true})
}

// Shutdown sends what is still buffered and ends the exporters, within the time of the context.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var failures []error
	for _, shutdown := range t.shutdown {
		failures = append(failures, shutdown(ctx))
	}
	t.shutdown = nil
	return errors.Join(failures...)
}
