package connectors

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/connectors/store"
)

// scrapeTimeout bounds the query of one scrape: a database that does not answer must not hide the metrics of other parts.
const scrapeTimeout = time.Second

// meters are the metrics of the service.
type meters struct{ calls metric.Float64Histogram }

func newMeters(provider metric.MeterProvider, rows *store.Store) (*meters, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/connectors")
	m := &meters{}
	var err error
	if m.calls, err = meter.Float64Histogram("flyte.connectors.calls", metric.WithUnit("s"),
		metric.WithDescription("calls of connectors, by connector, procedure and code"),
		metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30)); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	gauge := func(name, description string, more ...metric.Int64ObservableGaugeOption) (g metric.Int64ObservableGauge) {
		if err == nil {
			g, err = meter.Int64ObservableGauge(name, append(more, metric.WithDescription(description))...)
		}
		return g
	}
	up := gauge("flyte.connectors.up", "whether a connector said at the last try what it serves: 1 or 0")
	jobs := gauge("flyte.connectors.jobs", "actions of connectors, by state: waiting, with a job, or with a job that is being deleted")
	late := gauge("flyte.connectors.late", "for how long the job has been due that was not looked at for the longest time", metric.WithUnit("s"))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	_, err = meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
		defer cancel()
		all, err := rows.States(ctx)
		if err != nil {
			return err
		}
		all = appsTogether(all)
		for i := range all {
			name, answers := attribute.String("connector", all[i].Name), int64(0)
			if all[i].Problem == "" {
				answers = 1
			}
			o.ObserveInt64(up, answers, metric.WithAttributes(name))
			o.ObserveInt64(jobs, all[i].Waiting, metric.WithAttributes(name, attribute.String("state", "waiting")))
			o.ObserveInt64(jobs, all[i].Jobs-all[i].Deleting, metric.WithAttributes(name, attribute.String("state", "job")))
			o.ObserveInt64(jobs, all[i].Deleting, metric.WithAttributes(name, attribute.String("state", "deleting")))
			o.ObserveInt64(late, int64(all[i].Late.Seconds()), metric.WithAttributes(name))
		}
		return nil
	}, up, jobs, late)
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	return m, nil
}

// allApps is the label of all connectors that are apps: users name apps, and labels are few.
const allApps = "apps"

// appsTogether adds up the connectors that are apps.
func appsTogether(all []store.State) []store.State {
	kept := all[:0]
	var apps *store.State
	for i := range all {
		if !strings.HasPrefix(all[i].Name, appPrefix) {
			kept = append(kept, all[i])
			continue
		}
		if apps == nil {
			apps = &store.State{Name: allApps}
		}
		apps.Waiting += all[i].Waiting
		apps.Jobs += all[i].Jobs
		apps.Deleting += all[i].Deleting
		apps.Late = max(apps.Late, all[i].Late)
		apps.Problem = cmp.Or(apps.Problem, all[i].Problem)
	}
	if apps != nil {
		kept = append(kept, *apps)
	}
	return kept
}

// called measures a call.
func (m *meters) called(ctx context.Context, connector, procedure, code string, took time.Duration) {
	if strings.HasPrefix(connector, appPrefix) {
		connector = allApps
	}
	m.calls.Record(ctx, took.Seconds(), metric.WithAttributes(
		attribute.String("connector", connector), attribute.String("procedure", procedure), attribute.String("code", code)))
}
