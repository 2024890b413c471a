package rpc

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// refusals counts the calls that fail, and logs some: what clients do wrong must not fill the log.
type refusals struct {
	lines *loglimit.Limit
	calls metric.Int64Counter
}

func newRefusals(meter metric.Meter, c clock.Clock) (*refusals, error) {
	const name = "flyte.rpc.refused"
	calls, err := meter.Int64Counter(name, metric.WithDescription("calls that were answered with an error"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	return &refusals{lines: loglimit.New(c), calls: calls}, nil
}

// note counts a call that was refused, and logs it unless there were many of the kind. What only says that a client asked
// for something wrong is for debugging; denials and limits concern the operator.
func (r *refusals) note(ctx context.Context, procedure string, err error) {
	kind := KindOf(err)
	r.count(ctx, procedure, kind)
	level, text := zerolog.DebugLevel, "call refused"
	switch kind {
	case KindPermissionDenied, KindUnauthenticated, KindResourceExhausted:
		level = zerolog.InfoLevel
	case KindUnavailable:
		level, text = zerolog.WarnLevel, "call failed"
	default:
	}
	if line := r.line(ctx, procedure, kind, level); line != nil {
		line.Err(err).Msg(text)
	}
}

// count counts a call that failed.
func (r *refusals) count(ctx context.Context, procedure string, kind Kind) {
	r.calls.Add(ctx, 1, metric.WithAttributes(
		attribute.String("procedure", procedure), attribute.String("code", kind.Code().String())))
}

// line begins a line of the log; nil if there were too many of its kind.
func (r *refusals) line(ctx context.Context, procedure string, kind Kind, level zerolog.Level) *zerolog.Event {
	event := zerolog.Ctx(ctx).WithLevel(level)
	if !event.Enabled() {
		return nil
	}
	suppressed, ok := r.lines.Allow(procedure + " " + kind.Code().String())
	if !ok {
		return nil
	}
	if suppressed > 0 {
		event = event.Int("suppressed", suppressed)
	}
	return event.Stringer("code", kind.Code())
}
