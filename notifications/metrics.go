package notifications

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/notifications/store"
)

// scrapeTimeout bounds the queries of one scrape: a database that does not answer must not hide the metrics of other parts.
const scrapeTimeout = time.Second

type metrics struct{ tries metric.Int64Counter }

func newMetrics(provider metric.MeterProvider, outbox Outbox, list *store.Store, clk clock.Clock) (*metrics, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/notifications")
	tries, err := meter.Int64Counter("flyte.notifications.tries",
		metric.WithDescription("tries to deliver notifications, by kind and result: delivered, retry, dead or interrupted"))
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	waiting, err := meter.Int64ObservableGauge("flyte.notifications.deliveries",
		metric.WithDescription("deliveries that are pending, and those that were given up and are still listed, by state"))
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	oldest, err := meter.Float64ObservableGauge("flyte.notifications.oldest", metric.WithUnit("s"),
		metric.WithDescription("age of the oldest entry of the outbox and of the oldest pending delivery, by list"))
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	_, err = meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
		defer cancel()
		now := clk.Now()
		age := func(at *time.Time) float64 {
			if at == nil || at.IsZero() {
				return 0
			}
			return max(0, now.Sub(*at).Seconds())
		}
		counts, err := list.Count(ctx)
		if err != nil {
			return err
		}
		at, err := outbox.Oldest(ctx)
		if err != nil {
			return err
		}
		o.ObserveInt64(waiting, counts.Pending, metric.WithAttributes(attribute.String("state", "pending")))
		o.ObserveInt64(waiting, counts.Dead, metric.WithAttributes(attribute.String("state", "dead")))
		o.ObserveFloat64(oldest, age(&at), metric.WithAttributes(attribute.String("list", "outbox")))
		o.ObserveFloat64(oldest, age(counts.Oldest), metric.WithAttributes(attribute.String("list", "deliveries")))
		return nil
	}, waiting, oldest)
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	return &metrics{tries: tries}, nil
}

func (m *metrics) count(ctx context.Context, result string, kind int16) {
	name := strings.ToLower(strings.TrimPrefix(insightv1.DeliveryKind(kind).String(), "DELIVERY_KIND_"))
	m.tries.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", name), attribute.String("result", result)))
}
