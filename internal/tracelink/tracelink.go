// Package tracelink carries the trace of a call to what happens long after it: the trace of CreateRun is stored as a variable
// of the run's tasks, in the notation of W3C's traceparent. Processes of tasks find it there, and so do the parts that record
// spans of actions. It builds on OpenTelemetry's interfaces alone.
package tracelink

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Variable is the environment variable that has the trace.
const Variable = "TRACEPARENT"

const header = "traceparent"

// Of is the trace of a call; false if there is none or nobody records it.
func Of(ctx context.Context) (parent string, recorded bool) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return "", false
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[header], carrier[header] != ""
}

// Span is a span of something that has ended.
type Span struct {
	// Parent is the value of Variable.
	Parent string
	Name   string
	// Start and End are when it happened.
	Start, End time.Time
	// Failure says what went wrong; empty for nothing.
	Failure    string
	Attributes []attribute.KeyValue
}

// Record records a span. Without a parent, or a tracer, it does nothing.
func (s Span) Record(tracer trace.Tracer) {
	if s.Parent == "" || tracer == nil {
		return
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{header: s.Parent})
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return // whoever set the variable did not mean this
	}
	_, span := tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Start), trace.WithAttributes(s.Attributes...))
	if s.Failure != "" {
		span.SetStatus(codes.Error, s.Failure)
	}
	span.End(trace.WithTimestamp(s.End))
}

// Action are the attributes that name an action.
func Action(project, domain, run, action string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("flyte.project", project), attribute.String("flyte.domain", domain),
		attribute.String("flyte.run", run), attribute.String("flyte.action", action),
	}
}
