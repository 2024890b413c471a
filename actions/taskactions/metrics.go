package taskactions

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/internal/kube/drift"
)

// metrics counts the operations of the owner. Its repairs are of drift that a lossless stream would have prevented.
type metrics struct {
	created, deleted, failures, rejected metric.Int64Counter
	repairs                              *drift.Repairs
}

func newMetrics(provider metric.MeterProvider, live func() int64) (*metrics, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/actions/taskactions")
	m := &metrics{}
	for _, c := range []struct {
		counter    *metric.Int64Counter
		name, what string
	}{
		{&m.created, "flyte.task_actions.created", "TaskActions created"},
		{&m.deleted, "flyte.task_actions.deleted", "TaskActions deleted"},
		{&m.failures, "flyte.task_actions.failures", "calls that failed and are retried"},
		{&m.rejected, "flyte.task_actions.rejected", "actions failed because the API server refuses their TaskAction"},
	} {
		var err error
		if *c.counter, err = meter.Int64Counter(c.name, metric.WithDescription(c.what)); err != nil {
			return nil, fmt.Errorf("make metric %s: %w", c.name, err)
		}
	}
	var err error
	if _, err = meter.Int64ObservableGauge("flyte.task_actions.live", metric.WithDescription("admitted, unfinished actions of the shards of this replica"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error { o.Observe(live()); return nil })); err != nil {
		return nil, fmt.Errorf("make metric flyte.task_actions.live: %w", err)
	}
	if m.repairs, err = drift.NewRepairs(provider); err != nil {
		return nil, err
	}
	return m, nil
}
