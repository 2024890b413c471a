// Package tracelink carries the trace of a call to what happens long after it: the trace of CreateRun is stored as a variable
// of the run's tasks, in the notation of W3C's traceparent. Processes of tasks find it there, and so do the parts that record
// spans of actions. The span of an attempt is recorded when the attempt ends, but has descendants before that: its id is computed
// from the attempt, so that every process knows it. It builds on OpenTelemetry's interfaces alone.
package tracelink

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Variable is the environment variable that has the trace.
const Variable = "TRACEPARENT"

const header = "traceparent"

// Of is the trace of a call; false if there is none or no one records it.
func Of(ctx context.Context) (parent string, recorded bool) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return "", false
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[header], carrier[header] != ""
}

// OfAttempt is the trace below the span of an attempt of an action, for the tasks and the spans that the attempt causes. parent is
// the trace that the run or the parent's attempt has; the result is empty if it is none.
func OfAttempt(parent, project, domain, run, action string, attempt int32) string {
	above := parse(parent)
	if !above.IsValid() {
		return ""
	}
	id := above.TraceID()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s/%s/%s/%d", id, project, domain, run, action, attempt))
	below := above.WithSpanID(trace.SpanID(sum[:8]))
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), below), carrier)
	return carrier[header]
}

func parse(text string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{header: text})
	return trace.SpanContextFromContext(ctx)
}

type selfKey struct{}

// IDs gives spans their ids: random ones, but those that Span.Self asks for. It implements the SDK's IDGenerator.
type IDs struct{}

// NewIDs returns the ids of a new trace and its first span.
func (g IDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // it never fails
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID returns the id of a span of a trace.
func (IDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	id, asked := ctx.Value(selfKey{}).(trace.SpanID)
	if !asked {
		_, _ = rand.Read(id[:]) // it never fails
	}
	return id
}

// Span is a span of something that has ended.
type Span struct {
	// Parent is the value of Variable.
	Parent string
	// Self is the result of OfAttempt for the span of an attempt; empty for a new id.
	Self string
	Name string
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
	parent := parse(s.Parent)
	if !parent.IsValid() {
		return // the variable was set for something else
	}
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), parent)
	if self := parse(s.Self); self.IsValid() {
		ctx = context.WithValue(ctx, selfKey{}, self.SpanID())
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
