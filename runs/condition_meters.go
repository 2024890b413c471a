package runs

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// conditionMeters count how conditions end, and who is asked to answer them.
type conditionMeters struct {
	ended, comments, assignments metric.Int64Counter
	wait                         metric.Float64Histogram
}

var _ store.ConditionObserver = (*conditionMeters)(nil)

func newConditionMeters(meter metric.Meter) (*conditionMeters, error) {
	m := &conditionMeters{}
	for name, one := range map[string]struct {
		counter *metric.Int64Counter
		about   string
	}{
		"flyte.conditions.ended":       {&m.ended, "conditions that waited and ended, by outcome: answered, timed out, aborted, or failed for another reason"},
		"flyte.conditions.comments":    {&m.comments, "answers of conditions that have a comment"},
		"flyte.conditions.assignments": {&m.assignments, "calls that ask a person to answer a condition, by result: assigned, removed, refused or failed"},
	} {
		var err error
		if *one.counter, err = meter.Int64Counter(name, metric.WithDescription(one.about)); err != nil {
			return nil, fmt.Errorf("make metric %s: %w", name, err)
		}
	}
	var err error
	if m.wait, err = meter.Float64Histogram("flyte.conditions.wait", metric.WithUnit("s"),
		metric.WithDescription("from when a condition began to wait until it was answered"),
		metric.WithExplicitBucketBoundaries(1, 10, 60, 300, 1800, 3600, 4*3600, 12*3600, 24*3600, 3*24*3600, 7*24*3600)); err != nil {
		return nil, fmt.Errorf("make metric flyte.conditions.wait: %w", err)
	}
	return m, nil
}

// ConditionsEnded implements store.ConditionObserver.
func (m *conditionMeters) ConditionsEnded(ended []store.ConditionEnd) {
	ctx := context.Background()
	for _, one := range ended {
		outcome := "failed"
		switch one.Phase {
		case state.Succeeded:
			outcome = "answered"
			m.wait.Record(ctx, one.Waited.Seconds())
		case state.TimedOut:
			outcome = "timed-out"
		case state.Aborted:
			outcome = "aborted"
		}
		m.ended.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
		if one.Commented {
			m.comments.Add(ctx, 1)
		}
	}
}

// assigned counts a call that asked a person, or with removed no one in particular, to answer.
func (m *conditionMeters) assigned(ctx context.Context, removed bool, err error) {
	result := "assigned"
	switch kind := rpc.KindOf(err); {
	case err == nil && removed:
		result = "removed"
	case err == nil:
	case kind == rpc.KindInvalidArgument, kind == rpc.KindNotFound, kind == rpc.KindFailedPrecondition, kind == rpc.KindPermissionDenied:
		result = "refused"
	default:
		result = "failed"
	}
	m.assignments.Add(ctx, 1, metric.WithAttributes(attribute.String("result", result)))
}
