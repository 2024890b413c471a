package apps

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/apps/rollout"
	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

// scrapeTimeout bounds the query of one scrape: a database that does not answer must not hide the metrics of other parts.
const scrapeTimeout = time.Second

// meters are the metrics of the service. None has the name of an app as a label: there may be any number of them. The
// gateway has figures for single apps.
type meters struct {
	rollouts  metric.Int64Counter
	duration  metric.Float64Histogram
	scalings  metric.Int64Counter
	deletions metric.Int64Counter
}

// newMeters registers the metrics; without a provider they count into nothing.
func newMeters(provider metric.MeterProvider, rows *store.Store, open *logs) (*meters, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/apps")
	m := &meters{}
	var err error
	if m.rollouts, err = meter.Int64Counter("flyte.apps.rollouts",
		metric.WithDescription("rollouts of revisions that ended, by result: serving or failed, and the reason of a failure")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if m.duration, err = meter.Float64Histogram("flyte.apps.rollout.duration", metric.WithUnit("s"),
		metric.WithDescription("from the start of a rollout until its revision served"),
		metric.WithExplicitBucketBoundaries(.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800)); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if m.scalings, err = meter.Int64Counter("flyte.apps.scalings",
		metric.WithDescription("changes of the wanted replicas of a serving revision, by direction: up, down, to_zero or from_zero")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if m.deletions, err = meter.Int64Counter("flyte.apps.log.deletions",
		metric.WithDescription("deletions of stored logs, by result: ok or error")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if _, err = meter.Int64ObservableGauge("flyte.apps.log.streams", metric.WithDescription("open streams of logs"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(len(open.streams)))
			return nil
		})); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if _, err = meter.Int64ObservableGauge("flyte.apps.count", metric.WithDescription("apps, by cluster and status"),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
			defer cancel()
			counts, err := rows.Count(ctx)
			for _, c := range counts {
				o.Observe(c.Apps, metric.WithAttributes(attribute.String("cluster", c.Cluster), attribute.String("status", statusLabel(c.Status))))
			}
			return err
		})); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	return m, nil
}

// statusLabel is a status as a label: lower case, without the prefix of the enumeration.
func statusLabel(status int16) string {
	return strings.ToLower(strings.TrimPrefix(app.Status_DeploymentStatus(status).String(), "DEPLOYMENT_STATUS_"))
}

// decided counts what a decision that was committed has changed.
func (m *meters) decided(ctx context.Context, before, after rollout.State, now time.Time) {
	replaced := after.Serving.Number != before.Serving.Number
	if replaced && after.Serving.Number != 0 {
		m.rolledOut(ctx, "serving", "")
		m.duration.Record(ctx, max(0, now.Sub(before.TrialSince).Seconds()))
	}
	if after.Failure != nil && (before.Failure == nil || *before.Failure != *after.Failure) {
		m.rolledOut(ctx, "failed", app.Status_Substate(after.Failure.Substate).String())
	}
	// A rollout, a stop and a start change the number of replicas too. They are not scalings.
	if replaced || after.Stopped || before.Stopped || after.Replicas == before.Replicas {
		return
	}
	direction := "up"
	switch {
	case before.Replicas == 0:
		direction = "from_zero"
	case after.Replicas == 0:
		direction = "to_zero"
	case after.Replicas < before.Replicas:
		direction = "down"
	}
	m.scalings.Add(ctx, 1, metric.WithAttributes(attribute.String("direction", direction)))
}

func (m *meters) rolledOut(ctx context.Context, result, reason string) {
	m.rollouts.Add(ctx, 1, metric.WithAttributes(attribute.String("result", result), attribute.String("reason", strings.ToLower(reason))))
}

func (m *meters) deletedLogs(ctx context.Context, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.deletions.Add(ctx, 1, metric.WithAttributes(attribute.String("result", result)))
}
