package tracelink_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/flyte-binary/flyte-binary/internal/tracelink"
)

func TestASpanIsRecordedBelowTheStoredTrace(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tracer := provider.Tracer("test")
	_, recorded := tracelink.Of(t.Context())
	require.False(t, recorded, "a call without a trace")
	ctx, call := tracer.Start(context.Background(), "call")
	parent, recorded := tracelink.Of(ctx)
	require.True(t, recorded)
	call.End()
	exporter.Reset()

	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := tracelink.Span{
		Parent: parent, Name: "later", Start: began, End: began.Add(time.Minute), Failure: "FAILED", Attributes: tracelink.Action("p", "d", "r", "a0"),
	}
	one.Record(tracer)
	found := exporter.GetSpans()
	require.Len(t, found, 1)
	require.Equal(t, call.SpanContext().SpanID(), found[0].Parent.SpanID())
	require.Equal(t, call.SpanContext().TraceID(), found[0].SpanContext.TraceID())
	require.Equal(t, time.Minute, found[0].EndTime.Sub(found[0].StartTime))
	require.Equal(t, "FAILED", found[0].Status.Description)
	require.Len(t, found[0].Attributes, 4)

	exporter.Reset()
	for _, other := range []string{"", "nonsense", "00-0-0-01"} {
		one.Parent = other
		one.Record(tracer)
	}
	one.Parent = parent
	one.Record(nil)
	require.Empty(t, exporter.GetSpans())
}
