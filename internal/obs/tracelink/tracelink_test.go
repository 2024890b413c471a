package tracelink_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/flyte-binary/flyte-binary/internal/obs/tracelink"
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

func TestDescendantsKnowTheSpanOfAnAttemptBeforeItIsRecorded(t *testing.T) {
	const call = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	first := tracelink.OfAttempt(call, "p", "d", "r", "a0", 1)
	require.Equal(t, first, tracelink.OfAttempt(call, "p", "d", "r", "a0", 1), "the same in every process")
	require.Contains(t, first, "-0af7651916cd43dd8448eb211c80319c-")
	for _, other := range []string{
		call, tracelink.OfAttempt(call, "p", "d", "r", "a0", 2), tracelink.OfAttempt(call, "p", "d", "r", "a1", 1),
		tracelink.OfAttempt("00-ffff651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "p", "d", "r", "a0", 1),
	} {
		require.NotEqual(t, first, other)
	}
	require.Empty(t, tracelink.OfAttempt("nonsense", "p", "d", "r", "a0", 1))

	exporter := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithIDGenerator(tracelink.IDs{})).Tracer("test")
	tracelink.Span{Parent: first, Name: "child"}.Record(tracer)
	tracelink.Span{Parent: call, Self: first, Name: "attempt"}.Record(tracer)
	found := exporter.GetSpans()
	require.Len(t, found, 2)
	require.Equal(t, found[1].SpanContext.SpanID(), found[0].Parent.SpanID())
	require.NotEqual(t, found[1].SpanContext.SpanID(), found[0].SpanContext.SpanID())
	_, root := tracer.Start(t.Context(), "root")
	require.True(t, root.SpanContext().IsValid())
}
