package links

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/clusters/states"
)

// scrapeTimeout bounds the query of one scrape: a database that does not answer must not hide the metrics of other parts.
const scrapeTimeout = time.Second

// Meters are the metrics of links.
type Meters struct{ refusals metric.Int64Counter }

// NewMeters makes the metrics.
func NewMeters(provider metric.MeterProvider) (*Meters, error) {
	counter, err := meter(provider).Int64Counter("flyte.clusters.refused", metric.WithDescription("links of controllers that were refused, by reason"))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	return &Meters{refusals: counter}, nil
}

func (m *Meters) refused(ctx context.Context, reason string) {
	m.refusals.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
}

func meter(provider metric.MeterProvider) metric.Meter {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	return provider.Meter("github.com/flyte-binary/flyte-binary/clusters/links")
}

// Observe exports what is known about clusters, and what this replica holds.
func (l *Links) Observe(provider metric.MeterProvider) error {
	m := meter(provider)
	var err error
	gauge := func(name, description string, options ...metric.Int64ObservableGaugeOption) (g metric.Int64ObservableGauge) {
		if err == nil {
			g, err = m.Int64ObservableGauge(name, append(options, metric.WithDescription(description))...)
		}
		return g
	}
	held := gauge("flyte.clusters.links", "links of controllers that this process holds")
	tails := gauge("flyte.clusters.logs", "logs of running pods that this process reads through links")
	controllers := gauge("flyte.clusters.controllers", "controllers that are connected, by cluster")
	silent := gauge("flyte.clusters.silence", "for how long nothing was heard of the cluster", metric.WithUnit("s"))
	if err != nil {
		return fmt.Errorf("make metric: %w", err)
	}
	_, err = m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		links, logs := l.Held()
		o.ObserveInt64(held, int64(links))
		o.ObserveInt64(tails, int64(logs))
		ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
		defer cancel()
		all, err := l.deps.States.All(ctx)
		if err != nil {
			return err
		}
		for _, one := range all {
			l.observe(o, one, controllers, silent)
		}
		return nil
	}, held, tails, controllers, silent)
	if err != nil {
		return fmt.Errorf("make metric: %w", err)
	}
	return nil
}

func (l *Links) observe(o metric.Observer, one states.State, controllers, silent metric.Int64Observable) {
	if !one.Known() {
		return
	}
	of := metric.WithAttributes(attribute.String("cluster", one.Name))
	o.ObserveInt64(controllers, int64(one.Controllers), of)
	o.ObserveInt64(silent, int64(max(0, l.deps.Clock.Now().Sub(one.SeenAt)).Seconds()), of)
}
